/** Requests that wait before they are sent, at a worker that loses their client meanwhile. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryBus, sessionsBucket, subjects } from '@omnibus/bus';
import {
  latestLegacyRevision,
  latestModernRevision,
  newRequestKey,
  newWorkerId,
  noLists,
  rootEndpoint,
  anonymous,
  type CatalogRecord,
  type ModernReply,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import { WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

class CutBus extends MemoryBus {
  override readonly isShared = true;
  isCut = false;
  override reconnects = 0;

  override get connected(): boolean {
    return !this.isCut && super.connected;
  }
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
/** Its common lists are known, those for clients with questions only with `offers`. */
const lists: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  lists: { ...noLists, tools: [tool('plain')] },
};
const offers: Partial<CatalogRecord> = {
  ...lists,
  offers: [{ key: 'sampling', lists: { tools: { entries: [tool('late')], without: [] } } }],
};
const other = newWorkerId('session');

let test: WorkerUnderTest;
let bus: CutBus;

beforeEach(async () => {
  test = await WorkerUnderTest.start(['a'], {}, undefined, (onFault) => (bus = new CutBus(onFault)));
  test.saysOffers = false;
  await test.put('a', lists);
});

afterEach(async () => {
  bus.isCut = false;
  await test.stop();
});

const untilWaited = (times = 1): Promise<unknown> =>
  expect
    .poll(
      () => test.controls.values.filter((command) => command.kind === 'wanted' && command.caller !== undefined).length,
    )
    .toBe(times);

/** Makes another worker the owner of a session. @returns the worker that held it. */
async function moved(key: SessionKey): Promise<WorkerId> {
  const records = await bus.keyValue(sessionsBucket);
  const entry = await records.get(key);
  if (entry === undefined) throw new Error('the session has no record');
  await records.update(key, { ...entry.value, worker: other }, entry.revision);
  return entry.value.worker;
}

const open = (): Promise<ClientUnderTest> => test.open(latestLegacyRevision, { sampling: {} });
const calls = (): string[] =>
  test.asked.values.flatMap(({ method, params }) => (method === 'tools/call' ? [String(params['tag'])] : []));

it('a call that waits is answered when another worker has taken its session over, and never made', async () => {
  const client = await open();
  const answer = client.ask('tools/call', { name: 'late', tag: 'held' });
  await untilWaited();
  bus.publish(subjects.sessionTaken(await moved(client.key as SessionKey)), { key: client.key as SessionKey });
  expect((await answer).error?.data).toMatchObject({ reason: 'gateway.interrupted' });
  await test.put('a', offers);
  // A later call has been made, so the first would have been made by now.
  await (await open()).ask('tools/call', { name: 'late', tag: 'later' });
  expect(calls()).toEqual(['later']);
  expect(test.faults).toEqual([]);
});

it('a worker that was cut off looks whether it still holds the session before it makes a call that has waited', async () => {
  const [client, kept] = [await open(), await open()];
  const answer = client.ask('tools/call', { name: 'late', tag: 'held' });
  const second = kept.ask('tools/call', { name: 'late', tag: 'kept' });
  await untilWaited();
  await moved(client.key as SessionKey);
  bus.isCut = true;
  await test.put('a', offers);
  expect((await answer).error?.data).toMatchObject({ reason: 'gateway.interrupted' });
  expect((await second).error).toBeUndefined();
  expect(calls()).toEqual(['kept']);
});

it('a request without a session that waits counts as held, and is made after an interruption only if its edge still asks for it', async () => {
  const frames = new Map<SessionKey, ModernReply>();
  const [wanted, given, closed] = [newRequestKey(), newRequestKey(), newRequestKey()];
  for (const key of [wanted, given, closed])
    bus.request(
      subjects.modern(undefined),
      {
        kind: 'request',
        key,
        caller: { principal: anonymous, endpoint: rootEndpoint },
        request: { jsonrpc: '2.0', id: key, method: 'tools/call', params: { name: 'late', tag: key } },
        context: { capabilities: { sampling: {} }, logLevel: undefined },
        parameterHeaders: undefined,
      },
      { reply: (frame) => void frames.set(key, frame), failed: (error) => test.faults.push(String(error)) },
    );
  await untilWaited();
  const worker = await moved((await open()).key as SessionKey);
  const held = (keys: readonly SessionKey[]): Promise<readonly SessionKey[]> =>
    new Promise((resolve) => {
      bus.request(
        subjects.modernHolds(worker),
        { keys },
        { reply: (said) => resolve(said.keys), failed: (error) => test.faults.push(String(error)) },
      );
    });
  expect(await held([wanted, given, newRequestKey()])).toEqual([wanted, given]);
  bus.publish(subjects.modernControl, { kind: 'closed', key: closed, reason: 'the request was given up' });
  bus.reconnects += 1;
  expect(await held([wanted])).toEqual([wanted]);
  await test.put('a', offers);
  await expect.poll(() => frames.get(wanted)).toMatchObject({ kind: 'message', last: true });
  expect(frames.get(given)).toMatchObject({ kind: 'refused', fault: { reason: 'gateway.draining' } });
  expect([calls(), frames.has(closed)]).toEqual([[wanted], false]);
  expect(test.faults).toEqual([]);
});

it('a call that its user approves in a later request is made, whatever became of the bus between the two', async () => {
  const rules = [{ id: 'first', who: 'everyone', ask: ['a/plain'] }];
  await test.apply(['a'], { access: { default: 'allow', rules } });
  const client = await test.open(latestModernRevision, { elicitation: { form: {} } });
  const { result } = await client.ask('tools/call', { name: 'plain', tag: 'approved' });
  expect(result?.['resultType']).toBe('input_required');
  bus.reconnects += 1;
  const answered = await client.ask('tools/call', {
    name: 'plain',
    tag: 'approved',
    requestState: result?.['requestState'],
    inputResponses: Object.fromEntries(
      Object.keys(result?.['inputRequests'] as object).map((key) => [
        key,
        { action: 'accept', content: { approve: true } },
      ]),
    ),
  });
  expect([answered.error, calls()]).toEqual([undefined, ['approved']]);
});

it('a worker that was cut off while a record became safe looks whether it still holds the session before it makes the call', async () => {
  const recorded: ((isSafe: boolean) => void)[] = [];
  await test.stop();
  test = await WorkerUnderTest.start(
    ['a'],
    {},
    {
      isStrict: true,
      wantsResults: false,
      wants: () => true,
      record: () => undefined,
      confirm: () => new Promise((resolve) => recorded.push(resolve)),
    },
    (onFault) => (bus = new CutBus(onFault)),
  );
  await test.put('a', lists);
  const [client, kept] = [await open(), await open()];
  const answer = client.ask('tools/call', { name: 'plain', tag: 'lost' });
  const second = kept.ask('tools/call', { name: 'plain', tag: 'kept' });
  await expect.poll(() => recorded.length).toBe(2);
  await moved(client.key as SessionKey);
  bus.isCut = true;
  for (const safe of recorded) safe(true);
  expect((await answer).error?.data).toMatchObject({ reason: 'gateway.interrupted' });
  expect((await second).error).toBeUndefined();
  expect(calls()).toEqual(['kept']);
});

it("a client that calls before it confirms the handshake gets its server's questions during the call", async () => {
  const client = await test.openUnconfirmed(latestLegacyRevision, { sampling: {} });
  const ended = Promise.withResolvers<void>();
  test.takes = (reply) => {
    reply({ kind: 'input', input: 1, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
    void ended.promise.then(() => reply({ kind: 'result', result: { content: [] } }));
  };
  const answer = client.ask('tools/call', { name: 'plain', tag: 'early' });
  expect((await client.asked.until(1))[0]).toMatchObject({ method: 'sampling/createMessage' });
  ended.resolve();
  expect((await answer).error).toBeUndefined();
});
