/** Streams outlive the worker that has sent their messages: workers are killed and stopped while clients are away, and clients resume. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { EventReader } from '../support/event-reader.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, type Call, type Upstream } from '../support/upstream.ts';
import { WorkersUnderTest } from '../support/workers-under-test.ts';

let workers: WorkersUnderTest;
let upstream: Upstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  workers = await WorkersUnderTest.start();
  ({ upstream, gateway } = workers);
});

afterAll(() => workers[Symbol.asyncDispose]());

const replaceWorkers = (signal: NodeJS.Signals): Promise<void> => workers.replace(signal);

/** Calls the slow tool, reads up to the first progress, and breaks the connection. */
async function loseCall(client: RawClient): Promise<{ readonly call: Call; readonly lastEventId: string }> {
  const calls = upstream.calls.values.length;
  const opened = EventReader.open(gateway.url, client.session as string, {
    body: {
      jsonrpc: '2.0',
      id: 'lost',
      method: 'tools/call',
      params: { name: 'up__slow', _meta: { progressToken: 1 } },
    },
  });
  const call = (await upstream.calls.until(calls + 1)).at(-1) as Call;
  call.progress(1);
  const reader = await opened;
  await reader.events.untilSome(({ message }) => message?.method === 'notifications/progress');
  reader.break();
  return { call, lastEventId: reader.lastId };
}

/** The messages that a resuming client receives until the stream ends. */
async function comeBack(client: RawClient, lastEventId: string): Promise<readonly unknown[]> {
  const reader = await EventReader.open(gateway.url, client.session as string, { lastEventId });
  await reader.ended;
  return reader.messages.map(
    ({ params, id, result, error }) => params?.['progress'] ?? [id, result ?? error?.data?.['reason']],
  );
}

/** When this is answered, all earlier messages have been delivered. */
const settle = async (): Promise<void> => {
  using other = await RawClient.open(gateway.url);
  await other.callTool('up__echo');
};

it('SIGKILL: an answer that came while the client was away is sent when it comes back', async () => {
  using client = await RawClient.open(gateway.url);
  const { call, lastEventId } = await loseCall(client);
  call.progress(2);
  call.answer(text('finished'));
  await settle();
  await replaceWorkers('SIGKILL');
  expect(await comeBack(client, lastEventId)).toEqual([2, ['lost', text('finished')]]);
  expect(await comeBack(client, lastEventId)).toEqual([2, ['lost', text('finished')]]);
});

it('SIGKILL: a call that was not answered before is answered with "outcome unknown"', async () => {
  using client = await RawClient.open(gateway.url);
  const { call, lastEventId } = await loseCall(client);
  call.progress(2);
  await settle();
  await replaceWorkers('SIGKILL');
  expect(await comeBack(client, lastEventId)).toEqual([2, ['lost', 'gateway.interrupted']]);
});

it('a client that has received more than is stored is told that the outcome is unknown, since it would wait for ever if refused', async () => {
  using client = await RawClient.open(gateway.url);
  const { lastEventId } = await loseCall(client);
  await settle();
  await replaceWorkers('SIGKILL');
  expect(await comeBack(client, lastEventId.replace(/\d+$/, '9'))).toEqual([['lost', 'gateway.interrupted']]);
});

it('a stream without stored frames still says which request it belongs to', async () => {
  using client = await RawClient.open(gateway.url);
  const { lastEventId } = await loseCall(client);
  await replaceWorkers('SIGKILL');
  const unkept = lastEventId.replace(/^edge-.{3}/, 'edge-xyz');
  expect(await comeBack(client, unkept)).toEqual([['lost', 'gateway.interrupted']]);
});

it('SIGTERM: a call that its worker finishes before it stops is answered on the stream on which its client has come back', async () => {
  using client = await RawClient.open(gateway.url);
  const { call, lastEventId } = await loseCall(client);
  const replaced = replaceWorkers('SIGTERM');
  // When this is answered, another worker holds the session.
  await client.callTool('up__echo');
  const back = comeBack(client, lastEventId);
  await settle();
  call.progress(2);
  call.answer(text('finished'));
  expect(await back).toEqual([2, ['lost', text('finished')]]);
  await replaced;
});

it('SIGKILL: a GET stream goes on under its id, with consecutive numbers', async () => {
  using client = await RawClient.open(gateway.url);
  const reader = await EventReader.open(gateway.url, client.session as string);
  upstream.notify('notifications/tools/list_changed');
  await reader.events.until(2);
  await replaceWorkers('SIGKILL');
  upstream.notify('notifications/tools/list_changed');
  await reader.events.untilSome(({ id }) => id?.endsWith('.2') === true);
  reader.break();
  const ids = reader.events.values.map(({ id }) => id as string);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids.map((id) => id.split('.')[0])).size).toBe(1);
  // A stream that was broken before the worker was killed is continued by the next one too.
  await replaceWorkers('SIGKILL');
  const again = await EventReader.open(gateway.url, client.session as string, { lastEventId: ids[1] as string });
  expect(again.status).toBe(200);
  await again.events.untilSome(({ id }) => id === ids[2]);
  again.break();
});

it('a client that resumes invented streams gets no more of them than others', async () => {
  using client = await RawClient.open(gateway.url);
  const readers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      EventReader.open(gateway.url, client.session as string, { lastEventId: `push-invented${index}.3` }),
    ),
  );
  expect(readers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: 8 }, () => 200),
    ...Array.from({ length: 4 }, () => 409),
  ]);
  for (const reader of readers) reader.break();
  expect(
    (await EventReader.open(gateway.url, client.session as string, { lastEventId: 'edge-invented.3' })).status,
  ).toBe(400);
});

it('SIGKILL: a reading request that is sent again continues the numbers of its stream', async () => {
  using client = await RawClient.open(gateway.url);
  const reads = upstream.requests.filter(({ method }) => method === 'resources/read').length;
  workers.ignored = reads + 1;
  // After a second the answer becomes a stream, which the client may resume.
  const reader = await EventReader.open(gateway.url, client.session as string, {
    body: { jsonrpc: '2.0', id: 'read', method: 'resources/read', params: { uri: 'up://one' } },
  });
  await replaceWorkers('SIGKILL');
  await reader.ended;
  expect(reader.messages).toMatchObject([{ id: 'read', result: { contents: [{ uri: 'up://one' }] } }]);
  expect(reader.events.values.map(({ id }) => id?.split('.')[1])).toEqual(['0', '1']);
});
