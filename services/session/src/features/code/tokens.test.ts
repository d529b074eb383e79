/** What code mode saves: one conversation with 508 tools on 16 servers, the shape that Bifrost published, counted as characters / 4. */
import { afterEach, expect, it } from 'vitest';
import { coderNames, tokensOf } from '@omnibus/catalog';
import { latestLegacyRevision, noLists, type JsonObject } from '@omnibus/protocol';
import { WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const verbs = ['create', 'list', 'get', 'update', 'delete', 'search', 'archive', 'share'];
const things = ['issue', 'message', 'file', 'event', 'user', 'project', 'comment', 'label', 'record', 'report'];
const servers = Array.from({ length: 16 }, (_, at) => `service${at + 1}`);

function toolsOf(server: string, count: number): readonly (JsonObject & { readonly name: string })[] {
  return Array.from({ length: count }, (_, at) => {
    const [verb = '', thing = ''] = [verbs[at % verbs.length], things[Math.floor(at / verbs.length) % things.length]];
    return {
      name: `${verb}_${thing}`,
      description: `${verb}s a ${thing} in ${server}. Use it when the user asks to ${verb} a ${thing} by its id or its name. Answers the ${thing} with its fields.`,
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'string', description: `The id of the ${thing}` },
          name: { type: 'string', description: `The name of the ${thing}, as users see it` },
          limit: { type: 'integer', description: 'How many to answer at most' },
          fields: { type: 'array', items: { type: 'string' }, description: 'The fields to answer' },
        },
        required: ['id'],
      },
    };
  });
}

/** Three steps of a user's task: what the model searches for, and the script that it writes then. */
const steps = [
  [
    'list the issues of a project',
    `const all = await servers.service1.list_issue({ id: 'p1', limit: 100 });\nreturn all.filter(({ open }) => open).map(({ id }) => id);`,
  ],
  [
    'search messages about an issue',
    `const found = await Promise.all(['i1', 'i2', 'i3'].map((id) => servers.service2.search_message({ id })));\nreturn found.flat().length;`,
  ],
  [
    'create a file for the team',
    `const made = await servers.service3.create_file({ id: 'r1', name: 'Open issues' });\nreturn made.length;`,
  ],
] as const;

async function said(client: ClientUnderTest, name: string, given: JsonObject): Promise<JsonObject> {
  return (await client.ask('tools/call', { name, arguments: given })).result ?? {};
}

it('a conversation with 508 tools on 16 servers costs at least 95 % fewer tokens than their list', async () => {
  const worker = (up = await WorkerUnderTest.start(servers, {
    listing: 'code',
    profiles: { all: { listing: 'full' } },
  }));
  for (const [at, server] of servers.entries())
    await worker.put(server, {
      revision: latestLegacyRevision,
      lists: { ...noLists, tools: toolsOf(server, at < 12 ? 32 : 31) },
    });
  const rows = Array.from({ length: 40 }, (_, id) => ({ id: `i${id}`, open: id % 2 === 0, text: 'x'.repeat(500) }));
  worker.outcome = { kind: 'result', result: { content: [{ type: 'text', text: JSON.stringify(rows) }] } };
  const client = await worker.open(latestLegacyRevision);
  const full = servers.flatMap((server, at) =>
    toolsOf(server, at < 12 ? 32 : 31).map((tool) => ({ ...tool, name: `${server}__${tool.name}` })),
  );
  expect(full).toHaveLength(508);
  const list = (await client.ask('tools/list')).result?.['tools'];
  const texts = [JSON.stringify(list)];
  for (const [query, code] of steps) {
    const found = await said(client, coderNames.find, { query, limit: 4 });
    const answer = await said(client, coderNames.run, { code });
    expect(answer['isError']).toBeUndefined();
    // What the model writes and reads: its calls, and their answers.
    texts.push(
      JSON.stringify({ query, limit: 4 }),
      JSON.stringify(found),
      JSON.stringify({ code }),
      JSON.stringify(answer),
    );
  }
  const whole = tokensOf(JSON.stringify(full));
  const short = texts.reduce((sum, text) => sum + tokensOf(text), 0);
  const saved = 100 * (1 - short / whole);
  console.log(`listing: full ${whole}, code mode ${short}: ${saved.toFixed(1)} % fewer`);
  expect(saved).toBeGreaterThanOrEqual(95);
});
