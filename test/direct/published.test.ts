/**
 * Published servers behind one gateway: the answers through the server's own endpoint and through that of all servers are compared, member by member,
 * with the direct answers. A difference that docs/reference/differences.md does not explain fails.
 */
import { mkdir } from 'node:fs/promises';
import type { JsonObject } from '@omnibus/protocol';
import { beforeAll, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { askAll, compare, type Answers, type Found } from './compare.ts';
import { conformanceServers, startServer, untilAllAreUp } from './conformance-servers.ts';
import { allDifferences, explanationOf, type Difference } from './differences.ts';
import { publishedServers, type PublishedServer } from './published.ts';
import { Speaker, type Era } from './speaker.ts';
import { isWhole, make, makingLimitMs, usable, work } from './toolchains.ts';

/** The calls to each server of the official suites. */
const offered: Pick<PublishedServer, 'calls' | 'prompts' | 'reads' | 'completions'> = {
  calls: [
    'test_simple_text',
    'test_image_content',
    'test_audio_content',
    'test_embedded_resource',
    'test_multiple_content_types',
    'test_tool_with_progress',
    'test_error_handling',
    'test_logging_tool',
  ].map((tool) => [tool, {}]),
  prompts: [
    ['test_simple_prompt', {}],
    ['test_prompt_with_arguments', { arg1: 'a', arg2: 'b' }],
    ['test_prompt_with_image', {}],
  ],
  reads: ['test://static-text', 'test://static-binary', 'test://template/7/data'],
  completions: [
    { ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'par' } },
    { ref: { type: 'ref/resource', uri: 'test://template/{id}/data' }, argument: { name: 'id', value: '1' } },
  ],
};

const eras = ['legacy', 'modern'] as const;
const declared: readonly JsonObject[] = isWhole
  ? [{}, { elicitation: {}, sampling: {}, roots: { listChanged: true } }]
  : [{}];
if (!isWhole)
  console.log(
    'left out: comparing what clients hear that declare elicitation, sampling and roots, since each of them starts programs of its own for minutes; `OMNIBUS_DIRECT=all npm test -- direct` does it',
  );

const servers = usable(publishedServers);
const suites = usable(conformanceServers);

beforeAll(async () => {
  await mkdir(work, { recursive: true });
  await make([...servers, ...suites].flatMap(({ needs = [] }) => needs));
}, makingLimitMs);

it(
  'of published servers a client hears the same through one gateway for all of them',
  { timeout: 600_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const started = await Promise.all(
      suites.map(async (server): Promise<PublishedServer> => {
        const running = stack.use(await startServer(server));
        return {
          name: server.name.toLowerCase().replace(/[^a-z0-9]+/g, '-'),
          target: { url: running.url },
          ...offered,
        };
      }),
    );
    const all = [...servers, ...started];
    for (const server of all) await server.prepare?.();
    const gateway = stack.use(
      await startGateway('embedded', { mcpServers: Object.fromEntries(all.map(({ name, target }) => [name, target])) }),
    );
    await untilAllAreUp(gateway);

    const unexplained: Found[] = [];
    const needed = new Set<Difference>();
    const waiting = all.values();
    const compareSome = async (): Promise<void> => {
      for (const server of waiting) {
        for (const capabilities of declared) {
          for (const found of await differencesOf(gateway.url, server, capabilities)) {
            const explanation = explanationOf(found);
            if (explanation === undefined) unexplained.push(found);
            else needed.add(explanation);
          }
        }
        console.log(`${server.name}: compared`);
      }
    };
    await Promise.all([compareSome(), compareSome(), compareSome()]);
    for (const difference of allDifferences)
      if (difference.isAnswer !== undefined && !needed.has(difference))
        console.log(`explains nothing here: ${difference.what}`);
    expect(unexplained).toEqual([]);
  },
);

async function differencesOf(url: string, server: PublishedServer, capabilities: JsonObject): Promise<Found[]> {
  const direct: Partial<Record<Era, Answers>> = {};
  for (const era of eras) {
    await using speaker = await Speaker.open(server.target, era, capabilities);
    if (speaker.isUnderstood) direct[era] = await askAll(speaker, server, 'own');
  }
  const found: Found[] = [];
  for (const era of eras) {
    const directEra = direct[era] === undefined ? (era === 'legacy' ? 'modern' : 'legacy') : era;
    const before = direct[directEra] as Answers;
    for (const endpoint of ['own', 'all'] as const) {
      await using speaker = await Speaker.open(
        { url: endpoint === 'own' ? `${url}/${server.name}` : url },
        era,
        capabilities,
      );
      found.push(
        ...compare(before, await askAll(speaker, server, endpoint, before), {
          server: server.name,
          endpoint,
          era,
          directEra,
        }),
      );
    }
  }
  return found;
}
