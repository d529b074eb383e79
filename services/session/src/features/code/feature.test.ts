/** Code mode, with servers that a test writes into the catalogue: found functions, and scripts whose calls are calls of the client. */
import { afterEach, describe, expect, it } from 'vitest';
import { coderNames, tokensOf } from '@omnibus/catalog';
import {
  latestLegacyRevision,
  latestModernRevision,
  legacyRevisions,
  modernRevisions,
  noLists,
  type CatalogRecord,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';
import { typeOf } from './types.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const revisions: readonly Revision[] = [...legacyRevisions, ...modernRevisions];

const github: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  lists: {
    ...noLists,
    tools: [
      {
        name: 'create-issue',
        description: 'Opens an issue in a repository.',
        inputSchema: {
          type: 'object',
          properties: {
            repo: { type: 'string', description: 'owner/name' },
            labels: { type: 'array', items: { enum: ['bug', 'idea'] } },
            at: { $ref: '#/$defs/at' },
          },
          required: ['repo'],
          $defs: { at: { type: ['string', 'null'] } },
        },
        outputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
      },
      {
        name: 'list_issues',
        description: 'Lists issues.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
    ],
  },
};
const mail: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  lists: { ...noLists, tools: [{ name: 'send', description: 'Sends a message.', inputSchema: { type: 'object' } }] },
};

async function started(settings: object = {}): Promise<WorkerUnderTest> {
  up = await WorkerUnderTest.start(['github', 'mail'], { listing: 'code', ...settings });
  await up.put('github', github);
  await up.put('mail', mail);
  return up;
}

interface Said {
  readonly text: string;
  readonly isError: boolean;
}

async function said(client: ClientUnderTest, name: string, given: JsonObject): Promise<Said> {
  const { result, error } = await client.ask('tools/call', { name, arguments: given });
  if (result === undefined) throw new Error(JSON.stringify(error));
  const [first] = result['content'] as readonly { readonly text: string }[];
  return { text: first?.text ?? '', isError: result['isError'] === true };
}

const run = (client: ClientUnderTest, code: string): Promise<Said> => said(client, coderNames.run, { code });

it('a server that is no text is named as a mistake', async () => {
  const client = await (await started()).open(latestModernRevision);
  const answer = await said(client, coderNames.find, { query: 'issues', server: { toString: 1 } });
  expect(answer).toEqual({ text: '"server" must be the name of a server.', isError: true });
});

it('the type of a schema with ten thousand references to itself is made in few steps', () => {
  let steps = 0;
  const itself = {
    get $ref() {
      steps += 1;
      return '#';
    },
  };
  expect(typeOf({ anyOf: Array.from({ length: 10_000 }, () => itself) })).toBe('unknown');
  expect(steps).toBeLessThan(10_000);
});

describe.each(revisions)('a client of %s at an endpoint with `listing: code`', (revision) => {
  it('is listed two tools of at most 600 tokens', async () => {
    const client = await (await started()).open(revision);
    const tools = (await client.ask('tools/list')).result?.['tools'] as readonly JsonObject[];
    expect(tools.map(({ name }) => name)).toEqual([coderNames.find, coderNames.run]);
    expect(tokensOf(JSON.stringify(tools))).toBeLessThanOrEqual(600);
  });

  it('finds typed functions by words', async () => {
    const client = await (await started()).open(revision);
    expect((await said(client, coderNames.find, { query: 'open an issue', limit: 1 })).text).toBe(
      '/** Opens an issue in a repository. */\n' +
        'servers.github.create_issue(args: { repo: string /* owner/name */; labels?: ("bug" | "idea")[]; at?: string | null }): Promise<{ number: number }>',
    );
    expect((await said(client, coderNames.find, { query: 'issues', server: 'github', limit: 1 })).text).toBe(
      '/** [read-only] Lists issues. */\nservers.github.list_issues(args?: Record<string, unknown>): Promise<any>',
    );
  });

  it('runs TypeScript whose calls reach servers under their own names, and gets what it returns', async () => {
    const worker = await started();
    const client = await worker.open(revision);
    worker.outcome = {
      kind: 'result',
      result: { content: [{ type: 'text', text: '{"number":7}' }], structuredContent: { number: 7 } },
    };
    const code = `
      const made: { number: number } = await servers.github.create_issue({ repo: 'a/b' });
      console.log('made', made);
      const [one, other] = await Promise.all([servers.mail.send(), servers.mail.send({ to: 'x' })]);
      return made.number + one.number + other.number as number;`;
    expect(await run(client, code)).toEqual({ text: 'made {"number":7}\n\n21', isError: false });
    expect(worker.reached).toEqual(['github', 'mail', 'mail']);
    const [first] = worker.asked.values;
    expect(first).toMatchObject({ params: { name: 'create-issue', arguments: { repo: 'a/b' } } });
  });
});
