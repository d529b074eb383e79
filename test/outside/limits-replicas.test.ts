/** Limits over three session workers that are all called at the same time, counted at the server: what docs/how-to/limits.md says of their errors. */
import { isObject, type JsonObject } from '@omnibus/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endNow, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { metricsOf } from '../support/metrics.ts';
import { end, type RunningProcess } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const replicas = 3;
const perReplica = 5;
/** Calls of the quota and of that during which a worker dies; units a second and in a burst of the rate. */
const [quota, mortal, perSecond, burst] = [400, 240, 20, 30];

let up: Upstream;
/** Whether tasks of the server have ended. */
let isOver = false;
let gateway: GatewayUnderTest;
const workers: RunningProcess[] = [];
const callers: RawClient[] = [];

const sessionsAt = async (worker: RunningProcess): Promise<number> =>
  (await metricsOf(worker)).get('omnibus_sessions_opened_total') ?? 0;
const limitOf = ({ last }: Answer): unknown => (isObject(last.error?.data) ? last.error.data['reason'] : undefined);
const executed = (name: string): number => up.calls.values.filter((call) => call.name === name).length;

/** Every caller calls until it is refused by a limit of this kind. @returns the refusals. */
function untilRefused(name: string, reason: string, own: readonly RawClient[] = callers): Promise<readonly Answer[]> {
  return Promise.all(
    own.map(async (caller) => {
      for (;;) {
        const answer = await caller.callTool(name);
        if (limitOf(answer) === reason) return answer;
      }
    }),
  );
}

beforeAll(async () => {
  const task = (): JsonObject => ({
    taskId: 'one',
    status: isOver ? 'completed' : 'working',
    createdAt: '2026-11-22T00:00:00Z',
    lastUpdatedAt: '2026-11-22T00:00:00Z',
    ttl: 600_000,
    pollInterval: 1_000,
  });
  up = await Upstream.start({
    tools: [...['scarce', 'mortal', 'paced'].map(tool), { ...tool('long'), execution: { taskSupport: 'optional' } }],
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    onCall: (call) => call.answer(call.name === 'long' && !isOver ? { task: task() } : text(call.name)),
    onRequest: ({ method }) => (method === 'tasks/get' ? task() : undefined),
  });
  gateway = await startGateway('nats', {
    mcpServers: { up: { url: up.url } },
    limits: {
      rules: [
        { id: 'scarce', what: ['up/scarce'], per: 'everyone', quota: `${quota}/month` },
        { id: 'mortal', what: ['up/mortal'], per: 'everyone', quota: `${mortal}/month` },
        { id: 'paced', what: ['up/paced'], per: 'everyone', rate: `${perSecond}/s`, burst },
        { id: 'long', what: ['up/long'], per: 'everyone', concurrency: 1 },
      ],
    },
  });
  workers.push(
    gateway.processes[1] as RunningProcess,
    await gateway.startPart('session'),
    await gateway.startPart('session'),
  );
  // NATS chooses the worker of each session.
  while (Math.min(...(await Promise.all(workers.map(sessionsAt)))) < perReplica)
    callers.push(
      ...(await Promise.all(Array.from({ length: replicas * perReplica }, () => RawClient.open(gateway.url)))),
    );
  await (callers[0] as RawClient).untilTools((names) => names.includes('scarce'));
});

afterAll(async () => {
  for (const caller of callers) caller[Symbol.dispose]();
  await endNow(gateway);
  await up[Symbol.asyncDispose]();
});

it('a quota is used up by all of them together, and never exceeded', async () => {
  const refusals = await untilRefused('scarce', 'limit.quota');
  expect(executed('scarce')).toBe(quota);
  for (const { status, last } of refusals) expect([status, last.error?.data]).toMatchObject([200, { limit: 'scarce' }]);
  expect((await Promise.all(callers.map((caller) => caller.callTool('scarce')))).map(limitOf)).toEqual(
    callers.map(() => 'limit.quota'),
  );
  expect(executed('scarce')).toBe(quota);
  for (const worker of workers)
    expect((await metricsOf(worker)).get('omnibus_limits_refused_total{limit="scarce",kind="quota"}')).toBeGreaterThan(
      0,
    );
});

it('a rate is exceeded by one burst for each further worker at most, however long all of them are called', async () => {
  const began = performance.now();
  const allowed = (): number => burst + (perSecond * (performance.now() - began)) / 1_000 + (replicas - 1) * burst;
  // Long enough that workers which knew nothing of each other would let through far more.
  let endsAt = began + 2_000;
  const load = (): Promise<unknown> =>
    Promise.all(
      callers.map(async (caller) => {
        // A machine that stalls makes few calls in a time.
        while (performance.now() < endsAt || executed('paced') < burst) await caller.callTool('paced');
      }),
    );
  await load();
  expect(executed('paced')).toBeGreaterThanOrEqual(burst);
  // What one worker hears late, on a machine that stalls, it takes off later calls. Workers that never heard of each other would exceed the rate more and more.
  while (executed('paced') > allowed()) {
    endsAt = performance.now() + 1_000;
    await load();
  }
  expect(executed('paced')).toBeLessThanOrEqual(allowed());
});

it('a task holds a place at all of them until its server says, when it is asked, that it has ended', async () => {
  const [first, others] = [callers[0] as RawClient, callers.slice(1)];
  const begin = async (caller: RawClient): Promise<unknown> =>
    limitOf(
      await caller.request('tools/call', {
        name: 'long',
        arguments: {},
        ...(isOver ? {} : { task: { ttl: 600_000 } }),
      }),
    );
  expect(await begin(first)).toBeUndefined();
  // Workers that have not heard of it yet let one begin each.
  await expect.poll(async () => new Set(await Promise.all(others.map(begin)))).toEqual(new Set(['limit.concurrency']));
  expect(executed('long')).toBeLessThanOrEqual(replicas);
  const running = executed('long');
  expect(await begin(first)).toBe('limit.concurrency');
  isOver = true;
  await expect.poll(() => begin(others.at(-1) as RawClient)).toBeUndefined();
  expect(up.requests.filter(({ method }) => method === 'tasks/get').length).toBeGreaterThanOrEqual(running);
});

it('a worker that is killed takes with it the part of the quota that it had leased, and no more', async () => {
  for (const caller of callers) expect(limitOf(await caller.callTool('mortal'))).toBeUndefined();
  await end(workers.pop() as RunningProcess, 'SIGKILL');
  await untilRefused('mortal', 'limit.quota');
  expect(executed('mortal')).toBeLessThanOrEqual(mortal);
  // At most half of the remainder, divided by the number of workers.
  expect(executed('mortal')).toBeGreaterThanOrEqual(mortal - mortal / (2 * replicas));
});
