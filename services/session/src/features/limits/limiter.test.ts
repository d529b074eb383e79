/** Limits over three session workers, on a bus in memory and with a clock that the test turns. */
import { beforeEach, expect, it } from 'vitest';
import { MemoryBus, quotaBuckets, type KeyValue } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newWorkerId,
  parseServerName,
  rootEndpoint,
  type Facts,
  type GatewayFault,
  type QuotaRecord,
} from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { factsOf } from '../../worker-under-test.ts';
import type { Charge } from './charge.ts';
import { Limiter } from './limiter.ts';
import { Quotas, type Window } from './quotas.ts';
import { compileRules, type LimitedRequest } from './rules.ts';
import { loadedFrom } from '@omnibus/config/testing';

const server = parseServerName('images');
const workersThere = 3;

let now: number;
/** Of days and months alone. */
let shiftMs: number;
let bus: MemoryBus;
let isStoreThere: boolean;
let wheels: DeadlineWheel[];
/** When the clock of a worker that is gone stopped, by the index of the worker: it says nothing any more. */
let goneAt: Map<number, number>;
let workers: Limiter[];
let quotas: Quotas[];

beforeEach(() => {
  now = Date.UTC(2026, 10, 22, 12);
  shiftMs = 0;
  isStoreThere = true;
  bus = new MemoryBus(({ what, error }) => expect.fail(`${what}: ${String(error)}`));
  wheels = [];
  goneAt = new Map();
  workers = [];
  quotas = [];
  return async () => {
    for (const limiter of workers) await limiter.stop();
    await bus.drain();
  };
});

async function start(...rules: readonly object[]): Promise<void> {
  const loaded = loadedFrom({ limits: { rules } });
  const stores = { day: await bus.keyValue(quotaBuckets.day), month: await bus.keyValue(quotaBuckets.month) };
  const bucket = (window: Window): KeyValue<QuotaRecord> => {
    if (!isStoreThere) throw new Error('the store does not answer');
    return stores[window];
  };
  for (let index = 0; index < workersThere; index += 1) {
    const wheel = new DeadlineWheel({
      tickMs: 10,
      now: () => goneAt.get(index) ?? now,
      onFault: (error) => expect.fail(String(error)),
    });
    const own = new Quotas({ bucket, workers: () => workersThere, clock: () => now + shiftMs });
    const limiter = new Limiter({
      bus,
      wheel,
      worker: newWorkerId('session'),
      metrics: new Metrics({ processMetrics: false }),
      quotas: own,
      isShared: true,
      now: () => now,
    });
    limiter.apply(compileRules(loaded.config.limits.rules, loaded.config.mcpServers));
    await limiter.start();
    wheels.push(wheel);
    workers.push(limiter);
    quotas.push(own);
  }
}

/** Lets time pass, and messages arrive. */
async function pass(ms: number): Promise<void> {
  now += ms;
  for (const wheel of wheels) wheel.tick();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const ann = factsOf('ann');
const asking = (facts: Facts | undefined = ann, name = 'draw'): LimitedRequest => ({
  caller: { principal: facts?.principal ?? anonymous, endpoint: rootEndpoint },
  facts,
  server,
  kind: 'tool',
  name,
});
const at = (index: number): Limiter => workers[index] as Limiter;
const isRefused = (found: Charge | GatewayFault | undefined): found is GatewayFault =>
  found !== undefined && 'reason' in found;

async function begin(index: number, asked = asking()): Promise<Charge | GatewayFault | undefined> {
  return at(index).begin(asked);
}

/** Sends calls to each worker at this rate, spread evenly. @returns the admitted calls, by second. */
async function load(perSecond: readonly number[], seconds: number): Promise<number[]> {
  const accepted = Array.from({ length: seconds }, () => 0);
  const due = perSecond.map(() => 0);
  for (let tick = 0; tick < seconds * 100; tick += 1) {
    for (const [index, often] of perSecond.entries()) {
      for (
        due[index] = (due[index] as number) + often / 100;
        (due[index] as number) >= 1;
        due[index] = (due[index] as number) - 1
      ) {
        if (!isRefused(await begin(index)))
          accepted[Math.floor(tick / 100)] = (accepted[Math.floor(tick / 100)] as number) + 1;
      }
    }
    await pass(10);
  }
  return accepted;
}

it('a rate holds over three workers, whichever of them is asked, within what is taken before it is told', async () => {
  await start({ rate: '100/s' });
  const even = await load([100, 100, 100], 10);
  // Of the first second: a full bucket, the refill, and the calls of the other two in one reporting interval.
  expect(Math.max(...even)).toBeLessThanOrEqual(200 + 2 * 10 + 2);
  expect(even.slice(1).reduce((sum, count) => sum + count, 0) / 9).toBeLessThanOrEqual(101);
  const uneven = await load([280, 10, 10], 10);
  const average = uneven.reduce((sum, count) => sum + count, 0) / 10;
  expect(average).toBeGreaterThan(97);
  expect(average).toBeLessThan(103);
});

it('who is refused is told when he may come again, and may then', async () => {
  await start({ id: 'slow', rate: '60/min', burst: 2, because: 'it is dear' });
  expect([isRefused(await begin(0)), isRefused(await begin(0))]).toEqual([false, false]);
  const refusal = await begin(0);
  expect(refusal).toMatchObject({
    reason: 'limit.rate',
    message: expect.stringMatching(/slow.*it is dear/) as string,
    data: { limit: 'slow', retryAfterMs: 1_000 },
  });
  await pass(1_000);
  expect(isRefused(await begin(0))).toBe(false);
  expect(isRefused(await begin(0))).toBe(true);
});

it('what was not executed is given back, at the worker and at the others', async () => {
  await start({ rate: '1/h', concurrency: 1, quota: '2/day' });
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const charge = await begin(0);
    if (charge === undefined || isRefused(charge)) throw new Error(JSON.stringify(charge));
    charge.end(false, 0);
    charge.end(false, 0);
    await pass(200);
  }
  expect(isRefused(await begin(1))).toBe(false);
});

it('so many calls run at once over three workers, and a worker that says nothing any more counts no longer', async () => {
  await start({ concurrency: 2 });
  const [first, second] = [await begin(0), await begin(1)];
  if (first === undefined || isRefused(first) || second === undefined || isRefused(second)) throw new Error('refused');
  await pass(150);
  for (const index of [0, 1, 2]) expect(await begin(index)).toMatchObject({ reason: 'limit.concurrency' });
  first.end(true, 10);
  await pass(150);
  const third = await begin(2);
  expect(isRefused(third)).toBe(false);
  await pass(150);
  expect(await begin(0)).toMatchObject({ reason: 'limit.concurrency' });
  // It says again and again what runs there, so that a message may be lost.
  for (let passed = 0; passed < 10_000; passed += 500) await pass(500);
  await pass(150);
  expect(await begin(0)).toMatchObject({ reason: 'limit.concurrency' });
  // Those that held one each are gone without a word.
  for (const index of [1, 2]) goneAt.set(index, now);
  await pass(7_000);
  expect(isRefused(await begin(0))).toBe(false);
});

it('a quota is never exceeded by three workers that are asked at once, and used up to its end', async () => {
  await start({ quota: '500/day' });
  const counts = await Promise.all(
    [0, 1, 2].map(async (index) => {
      let accepted = 0;
      for (let asked = 0; asked < 400; asked += 1) if (!isRefused(await begin(index))) accepted += 1;
      return accepted;
    }),
  );
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(500);
  expect(await begin(0)).toMatchObject({ reason: 'limit.quota', data: { retryAfterMs: 12 * 3_600_000 } });
  shiftMs = 12 * 3_600_000;
  expect(isRefused(await begin(0))).toBe(false);
});

it('what a worker that dies had leased is lost for the day, and no more than that; one that stops gives it back', async () => {
  await start({ quota: '100/day' });
  const usedBy = async (index: number): Promise<number> => {
    let accepted = 0;
    while (!isRefused(await begin(index))) accepted += 1;
    return accepted;
  };
  await begin(1);
  await begin(2);
  await (quotas[1] as Quotas).stop();
  // The third dies with its lease: of a hundred a sixth at most, less its usage.
  const left = await usedBy(0);
  expect(left).toBeLessThanOrEqual(98);
  expect(left).toBeGreaterThanOrEqual(98 - Math.ceil(100 / 6));
});

it('a worker that is not asked any more gives back what it has, so that another finds it', async () => {
  await start({ quota: '20/month' });
  await begin(1);
  for (let passed = 0; passed < 12_000; passed += 1_000) await pass(1_000);
  let accepted = 0;
  while (!isRefused(await begin(0))) accepted += 1;
  expect(accepted).toBe(19);
});

it('results count when they are there: who has used up his bytes is refused from then on', async () => {
  await start({ bytes: '1KB/day' });
  const first = await begin(0);
  if (first === undefined || isRefused(first)) throw new Error('refused');
  first.end(true, 5_000);
  expect(await begin(0)).toMatchObject({
    reason: 'limit.quota',
    message: expect.stringContaining('results') as string,
  });
  expect(isRefused(await begin(0, asking(factsOf('bob'))))).toBe(false);
});

it('while it cannot be found out what is left, a rule allows or refuses as it says, and goes on when it can', async () => {
  await start(
    { id: 'strict', what: ['images/strict'], quota: '5/day' },
    { id: 'lenient', what: ['images/lenient'], quota: '5/day', onUnknown: 'allow' },
  );
  isStoreThere = false;
  expect(await begin(0, asking(ann, 'strict'))).toMatchObject({
    reason: 'limit.quota',
    message: expect.stringContaining('cannot be asked') as string,
    data: { retryAfterMs: 1_000 },
  });
  expect(isRefused(await begin(0, asking(ann, 'lenient')))).toBe(false);
  isStoreThere = true;
  await pass(1_000);
  expect(isRefused(await begin(0, asking(ann, 'strict')))).toBe(false);
});

it('a rule is about whom and what it names, and those share it whom it says', async () => {
  await start(
    { id: 'team', who: 'group:free', per: 'everyone', rate: '1/h' },
    { id: 'tenant', who: 'tenant:acme', per: 'tenant', rate: '1/h' },
    { id: 'tool', what: ['images/paint'], per: ['principal', 'tool'], rate: '1/h' },
    { id: 'other', what: ['prompt:images/*', 'mail'], rate: '1/h' },
  );
  const limitOf = async (asked: LimitedRequest): Promise<unknown> => {
    const found = await begin(0, asked);
    return isRefused(found) ? found.data?.['limit'] : undefined;
  };
  const [cat, dan] = [factsOf('cat', { groups: ['free'] }), factsOf('dan', { groups: ['free'] })];
  expect([await limitOf(asking(cat)), await limitOf(asking(dan))]).toEqual([undefined, 'team']);
  const [eve, fay] = [factsOf('eve', { tenant: 'acme', groups: ['free'] }), factsOf('fay', { tenant: 'acme' })];
  expect([
    await limitOf(asking(eve)),
    await limitOf(asking(fay)),
    await limitOf(asking(factsOf('gil', { tenant: 'umbrella' }))),
  ]).toEqual([undefined, 'tenant', undefined]);
  expect([
    await limitOf(asking(ann, 'paint')),
    await limitOf(asking(ann, 'paint')),
    await limitOf(asking(ann, 'draw')),
    await limitOf(asking(factsOf('bob'), 'paint')),
  ]).toEqual([undefined, 'tool', undefined, undefined]);
  expect([
    await limitOf({ ...asking(), kind: 'prompt' }),
    await limitOf({ ...asking(), kind: 'prompt' }),
    await limitOf(asking()),
  ]).toEqual([undefined, 'other', undefined]);
  // Units taken before another rule refused are returned.
  const both = factsOf('hal', { tenant: 'acme' });
  expect(await limitOf(asking(both, 'paint'))).toBe('tenant');
  expect(at(0).begin(asking(undefined))).toBeUndefined();
});

it('what was let through while nobody knew what is left gives nothing back', async () => {
  await start({ quota: '1/day', onUnknown: 'allow' });
  isStoreThere = false;
  for (let call = 0; call < 3; call += 1) {
    const charge = await begin(0);
    if (charge === undefined || isRefused(charge)) throw new Error('refused');
    charge.takeBack();
  }
  isStoreThere = true;
  await pass(1_000);
  expect([isRefused(await begin(0)), isRefused(await begin(0))]).toEqual([false, true]);
});

it('the bytes that were too much are known to others when the worker stops, and forgotten when the day is over', async () => {
  await start({ bytes: '1KB/day' });
  for (const index of [0, 1]) {
    const charge = await begin(index);
    if (charge === undefined || isRefused(charge)) throw new Error('refused');
    charge.end(true, 5_000);
  }
  await (quotas[0] as Quotas).stop();
  expect(await begin(2)).toMatchObject({ reason: 'limit.quota' });
  shiftMs = 12 * 3_600_000;
  await (quotas[1] as Quotas).sweep();
  expect((quotas[1] as Quotas).size).toBe(0);
});

it('clients of the same name of two issuers have a budget each', async () => {
  await start({ id: 'few', per: 'client', rate: '1/h', burst: 1 });
  const asked = (subject: string, issuer: string): Promise<Charge | GatewayFault | undefined> =>
    begin(0, asking(factsOf(subject, { issuer, client: 'cli' })));
  const [first, other, second] = [
    await asked('ann', 'https://a.example'),
    await asked('bob', 'https://b.example'),
    await asked('cal', 'https://a.example'),
  ];
  expect([first, other, second].map(isRefused)).toEqual([false, false, true]);
});
