/** Calls that wait for approvers when their session worker dies: the next one continues the wait, or uses the decision. The first worker has a bus of its own: it is gone. */
import { setImmediate } from 'node:timers/promises';
import { ApprovalBoard, MemoryBus, subjects } from '@omnibus/bus';
import { firstReply } from '@omnibus/bus/testing';
import {
  anonymous,
  newRequestKey,
  newWorkerId,
  noLists,
  rootEndpoint,
  type ApprovalRecord,
  type Begun,
  type JsonObject,
  type SessionKey,
} from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkerUnderTest } from './worker-under-test.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

const rules = [{ id: 'wire', who: 'everyone', ask: ['bank/wire'], approvers: ['test|bob'] }];
const settings = { access: { rules } };
const caller = { principal: anonymous, endpoint: rootEndpoint };
const backend = newWorkerId('backend');
const begun: Begun = { ageMs: 100, turn: 1, backends: [backend], areAll: true };
const approved = { state: 'approved', by: 'test|bob' } as const;
let before: WorkerUnderTest;
let next: WorkerUnderTest;
let keys: SessionKey[];

async function started(): Promise<WorkerUnderTest> {
  const made = await WorkerUnderTest.start(['bank', 'other'], settings, undefined, (onFault) => new SharedBus(onFault));
  await made.bus.subscribe(subjects.backendAttach(backend), (_command, reply) =>
    reply({ kind: 'seen', state: 'never' }),
  );
  await made.put('bank', { lists: { ...noLists, tools: [{ name: 'wire', inputSchema: { type: 'object' } }] } });
  return made;
}

beforeEach(async () => {
  [before, next, keys] = [await started(), await started(), []];
});

afterEach(async () => {
  for (const each of [before, next]) {
    for (const key of keys)
      each.bus.publish(subjects.modernControl, { kind: 'closed', key, reason: 'the test is over' });
    await each.turning(each.stop());
  }
});

/** Sends a call. @returns its outcome. */
function call(
  at: WorkerUnderTest,
  key: SessionKey,
  args: JsonObject,
  more: { readonly begun?: Begun } = {},
): Promise<unknown> {
  const answered = new Promise<unknown>((resolve) => {
    at.bus.request(
      subjects.modern(undefined),
      {
        kind: 'request',
        key,
        caller,
        request: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bank__wire', arguments: args } },
        context: { capabilities: {}, logLevel: undefined },
        parameterHeaders: undefined,
        ...more,
      },
      {
        reply: (frame) =>
          resolve(
            frame.kind === 'message' ? Object.keys(JSON.parse(frame.text) as JsonObject).at(-1) : JSON.stringify(frame),
          ),
        failed: ({ kind }) => resolve(kind),
      },
    );
  });
  return at.turning(answered);
}

/** The records on a board, each time that there are enough. */
async function records(
  at: WorkerUnderTest,
  isEnough: (all: readonly ApprovalRecord[]) => boolean,
): Promise<readonly ApprovalRecord[]> {
  const board = await ApprovalBoard.open(at.bus);
  let all: readonly ApprovalRecord[] = [];
  await at.turning(
    (async () => {
      while (!isEnough(all)) {
        await setImmediate();
        all = await board.all();
      }
    })(),
  );
  return all;
}

/** A call waits at the first worker, and its record is all that is left of it. */
async function left(): Promise<{
  readonly key: SessionKey;
  readonly record: ApprovalRecord;
  readonly board: ApprovalBoard;
}> {
  const key = newRequestKey();
  keys.push(key);
  void call(before, key, { to: 'DE1' });
  const [record] = (await records(before, (all) => all.length > 0)) as [ApprovalRecord];
  const board = await ApprovalBoard.open(next.bus);
  await board.post(record);
  return { key, record, board };
}

it.each(['after the next worker has the call', 'before that'])(
  'approvers see a call once that outlives its session worker, and its server gets it once, if they approve it %s',
  async (when) => {
    const { key, record, board } = await left();
    if (when === 'before that') await board.decide(record.id, approved, () => undefined);
    const answered = call(next, key, { to: 'DE1' }, { begun });
    if (when !== 'before that') {
      await records(next, ([found]) => found?.worker !== record.worker);
      // The former worker gives the call up when it runs again.
      expect(await board.close(record.id, 'waiting', 'withdrawn', record.worker)).toBe(false);
      await board.decide(record.id, approved, () => undefined);
    }
    expect([await answered, next.reached]).toEqual(['result', ['bank']]);
    const all = await records(next, ([found]) => found?.state === 'used');
    expect(all.map(({ id }) => id)).toEqual([record.id]);
  },
);

it('a call that was refused while no worker had it is refused, and one with other arguments needs an approval of its own', async () => {
  const { key, record, board } = await left();
  await board.decide(record.id, { state: 'refused', by: 'test|bob' }, () => undefined);
  expect(await call(next, key, { to: 'DE1' }, { begun })).toContain('approval.refused');
  void call(next, key, { to: 'DE2' }, { begun });
  const all = await records(next, (found) => found.length === 2);
  expect(all.map(({ state }) => state)).toEqual(['refused', 'waiting']);
  expect(next.reached).toEqual([]);
});

it('an approval that a call has used is not for a repetition of the call, which needs one of its own', async () => {
  const { key, record, board } = await left();
  await board.decide(record.id, approved, () => undefined);
  await call(next, key, { to: 'DE1' }, { begun });
  await records(next, ([found]) => found?.state === 'used');
  // Its client says that it repeats the call, after the backend worker has forgotten that it had it.
  void call(next, key, { to: 'DE1' }, { begun });
  const all = await records(next, (found) => found.length === 2 || next.reached.length > 1);
  expect([all.map(({ state }) => state), next.reached]).toEqual([['used', 'waiting'], ['bank']]);
});

it('the worker of a call that waits for approvers says that no server has it', async () => {
  const { key, record } = await left();
  const held = await firstReply(before.bus, subjects.modernHolds(record.worker), { keys: [key] });
  expect(held).toEqual({ keys: [key], notBegun: [key] });
});
