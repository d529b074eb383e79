/** Bounds on results, with servers that a test writes into the catalogue. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  latestLegacyRevision,
  latestModernRevision,
  newWorkerId,
  noLists,
  tasksExtension,
  type JsonObject,
} from '@omnibus/protocol';
import { WorkerUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const text = (length: number): JsonObject => ({ content: [{ type: 'text', text: 'x'.repeat(length) }] });
const lists = (names: readonly string[]): object => ({
  lists: {
    tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })),
    prompts: [{ name: 'say' }],
    resources: [{ uri: 'doc://1', name: 'one' }],
    resourceTemplates: [],
  },
  capabilities: { tools: {}, prompts: {}, resources: {} },
});

async function started(settings: object): Promise<WorkerUnderTest> {
  up = await WorkerUnderTest.start(['docs'], settings);
  await up.put('docs', lists(['read', 'find']));
  return up;
}

const server = (more: object): object => ({ mcpServers: { docs: { url: 'http://127.0.0.1:9/mcp', ...more } } });

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  it('is refused a result that is larger than the tool may answer, with both sizes and the option', async () => {
    const worker = await started(server({ maxResultBytes: 10_000, tools: { read: { maxResultBytes: 200 } } }));
    const client = await worker.open(revision);
    worker.outcome = { kind: 'result', result: text(300) };
    const { error } = await client.ask('tools/call', { name: 'read' });
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^the result has \d+ bytes, and mcpServers\.docs\.tools\.read\.maxResultBytes allows 200; /,
      ),
      data: { reason: 'result.too_large', maxBytes: 200 },
    });
    expect((await client.ask('tools/call', { name: 'find' })).result).toMatchObject(text(300));
  });

  it('gets a result that fits, measured in bytes of JSON', async () => {
    const result = { content: [{ type: 'text', text: 'é'.repeat(50) }] };
    const bytes = Buffer.byteLength(JSON.stringify(result));
    const worker = await started(server({ maxResultBytes: bytes }));
    const client = await worker.open(revision);
    worker.outcome = { kind: 'result', result };
    expect((await client.ask('tools/call', { name: 'read' })).result).toMatchObject(result);
    worker.outcome = { kind: 'result', result: { content: [{ type: 'text', text: `${'é'.repeat(50)}e` }] } };
    expect((await client.ask('tools/call', { name: 'read' })).error?.data).toMatchObject({
      reason: 'result.too_large',
      bytes: bytes + 1,
    });
  });

  it("is refused large prompts and resources by the server's bound", async () => {
    const worker = await started(server({ maxResultBytes: 200 }));
    const client = await worker.open(revision);
    worker.outcome = {
      kind: 'result',
      result: { messages: [{ role: 'user', content: { type: 'text', text: 'x'.repeat(300) } }] },
    };
    expect((await client.ask('prompts/get', { name: 'say' })).error?.data).toMatchObject({
      reason: 'result.too_large',
    });
    worker.outcome = { kind: 'result', result: { contents: [{ uri: 'doc://1', text: 'x'.repeat(300) }] } };
    expect((await client.ask('resources/read', { uri: 'doc://1' })).error?.data).toMatchObject({
      reason: 'result.too_large',
    });
  });

  it('is served by another bound as soon as the configuration has it', async () => {
    const worker = await started(server({}));
    const client = await worker.open(revision);
    worker.outcome = { kind: 'result', result: text(300) };
    expect((await client.ask('tools/call', { name: 'read' })).result).toMatchObject(text(300));
    await worker.apply(['docs'], server({ maxResultBytes: 200 }));
    expect((await client.ask('tools/call', { name: 'read' })).error?.data).toMatchObject({
      reason: 'result.too_large',
    });
  });
});

it('a client of the tasks extension is refused the large result of a task of an older server', async () => {
  const worker = await started(server({ tools: { read: { maxResultBytes: 200 } } }));
  await worker.put('docs', {
    revision: latestLegacyRevision,
    capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
    lists: {
      ...noLists,
      tools: [{ name: 'read', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
    },
  });
  const client = await worker.open(latestModernRevision, { extensions: { [tasksExtension]: {} } });
  const task = (status: string): JsonObject => ({
    taskId: 'reading',
    status,
    createdAt: 'now',
    lastUpdatedAt: 'now',
    ttl: 60_000,
  });
  const place = { worker: newWorkerId('backend'), connection: 'run-1', isProgram: false };
  worker.outcome = { kind: 'result', result: { task: task('working') }, place };
  const { result: begun } = await client.ask('tools/call', { name: 'read' });
  worker.takes = (reply) => {
    worker.outcome = { kind: 'result', result: text(300) };
    reply({ kind: 'result', result: task('completed') });
  };
  const { error } = await client.ask('tasks/get', { taskId: begun?.['taskId'] });
  expect(error?.data).toMatchObject({ reason: 'result.too_large', maxBytes: 200 });
});
