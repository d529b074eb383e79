/** A caller gets answers as if hidden entries did not exist: word for word, for any rights and any question. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { View, type EndpointDefinition, type Sight } from '@omnibus/catalog';
import {
  latestModernRevision,
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  type CatalogRecord,
  type ServerName,
} from '@omnibus/protocol';
import { packed, questionTexts, ToolVectors, type Meaning, type PackedVector } from '@omnibus/search';
import { describedTools, foundTools } from './found-tools.ts';
import { Indexes, type IndexedTools } from '../../call/tool-indexes.ts';

const words = 'list create delete issue file message weather city chart row find send page user token 7 天气'.split(
  ' ',
);
const servers = ['alpha', 'beta', 'gamma'].map(parseServerName);
const text = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 });

interface Made {
  readonly server: ServerName;
  readonly name: string;
  readonly description: string;
  readonly isHidden: boolean;
}

const tools = fc.uniqueArray(
  fc.record({
    server: fc.constantFrom(...servers),
    name: text.map((all) => all.slice(0, 2).join('_')),
    description: text.map((all) => all.join(' ')),
    isHidden: fc.boolean(),
  }),
  { minLength: 1, maxLength: 14, selector: ({ server, name }) => `${server}/${name}` },
);

function viewOf(made: readonly Made[], of: readonly ServerName[], isDown: boolean): View {
  const definition: EndpointDefinition = {
    endpoint: rootEndpoint,
    servers: of,
    prefix: 'always',
    rename: new Map(),
    pin: new Map(),
    pageSize: 100,
    listing: {
      mode: 'search',
      show: ['*/list*'],
      budget: { tools: 3 },
      descriptions: new Map(),
      isSlim: true,
    },
  };
  const records = of.map((server): CatalogRecord => {
    const own = made.filter((tool) => tool.server === server);
    return {
      server,
      status: isDown && server === servers[0] ? 'down' : 'up',
      revision: latestModernRevision,
      capabilities: { tools: {} },
      announcements: noAnnouncements,
      lists: {
        ...noLists,
        tools: own.map(({ name, description }) => ({ name, description, inputSchema: { type: 'object' } })),
      },
    };
  });
  return new View(definition, new Map(records.map((record) => [record.server, record])));
}

/** The gate tries some of the combinations that the long lane tries. */
const policies = process.env['OMNIBUS_LANE'] === 'long' ? 2_000 : 60;
const questions = 50;

/** What a model of this test makes of a text: the counts of its letters. */
function vectorOf(text: string): PackedVector {
  const counts = new Float64Array(32).fill(0.1);
  for (const letter of text) {
    const at = (letter.codePointAt(0) ?? 0) % 32;
    counts[at] = (counts[at] as number) + 1;
  }
  return packed(counts) as PackedVector;
}

/** The meaning of a question for the tools of a caller, as `Meanings` makes it. */
const meaningOf =
  (query: string) =>
  ({ tools, texts }: IndexedTools): Meaning => ({
    question: questionTexts(query).map(vectorOf),
    tools: new ToolVectors(
      tools.map(({ server }) => server),
      texts().map(vectorOf),
    ),
  });

it(`${policies * questions} combinations of rights and questions reveal no name, number or rank of what is hidden`, () => {
  const seenOnce = { some: false, none: false };
  fc.assert(
    fc.property(
      tools,
      fc.boolean(),
      fc.array(fc.tuple(text, fc.option(fc.constantFrom(...servers)), fc.integer({ min: 1, max: 60 })), {
        minLength: questions,
        maxLength: questions,
      }),
      (made, isDown, asked) => {
        const seen = made.filter(({ isHidden }) => !isHidden);
        const isSeen = new Set(seen.map(({ server, name }) => `${server}/${name}`));
        const knownServers = servers.filter((server) => seen.some((tool) => tool.server === server));
        const sight: Sight = {
          name: 'some',
          sees: (_kind, server, name) => isSeen.has(`${server}/${name}`),
          seesServer: (server) => knownServers.includes(server),
          mayEverythingOf: () => false,
        };
        const narrowed = viewOf(made, servers, isDown).seenBy(sight);
        const without = viewOf(seen, knownServers, isDown).seenBy(sight);
        const indexes = new Indexes();
        expect(narrowed.list('tools', undefined)).toBe(without.list('tools', undefined));
        expect(narrowed.versions.tools).toBe(without.versions.tools);
        expect(indexes.of(narrowed).index.bytes).toBe(indexes.of(without).index.bytes);
        const names = made.map(({ server, name }) => `${server}__${name}`);
        for (const [query, server, limit] of asked) {
          const given = { query: query.join(' '), limit, ...(server === null ? {} : { server }) };
          for (const meaning of [undefined, meaningOf(given.query)]) {
            const answer = JSON.stringify(foundTools(indexes, narrowed, given, meaning));
            if (answer !== JSON.stringify(foundTools(indexes, without, given, meaning))) expect.fail(answer);
            // The scores themselves, which an answer does not show.
            const [scores, others] = [narrowed, without].map((view) => {
              const indexed = indexes.of(view);
              return JSON.stringify(indexed.index.search(given.query, 60, undefined, meaning?.(indexed)));
            });
            if (scores !== others) expect.fail(scores);
            seenOnce[answer.includes('Nothing fits') ? 'none' : 'some'] = true;
          }
        }
        expect(describedTools(indexes, narrowed, { names }, true)).toEqual(
          describedTools(indexes, without, { names }, true),
        );
      },
    ),
    { numRuns: policies },
  );
  expect(seenOnce).toEqual({ some: true, none: true });
});
