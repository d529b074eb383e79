/**
 * `npm run bench -- faults [ROUNDS]`: what a fault costs calls. For each fault and era, calls are in flight when the fault strikes, and as many follow in that
 * moment, which their clients make again until they get an answer. Printed are the calls in flight, those that their clients get an answer to, those that
 * the server got twice, the following calls that were interrupted (some reach a process that has just died), and the time from the fault to the next answer.
 */
import { RawClient } from '../support/raw-client.ts';
import { ModernClient } from '../support/modern-client.ts';
import { text } from '../support/upstream.ts';
import { WorkersUnderTest } from '../support/workers-under-test.ts';

const rounds = Number(process.argv[2] ?? 5);
const callsAtOnce = 20;
/** A following call without an answer by then counts as interrupted, and its client gives up. */
const limitMs = 30_000;

interface Client extends Disposable {
  readonly call: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly last: { readonly result?: unknown } }>;
}

const eras: Readonly<Record<string, (url: string) => Promise<Client>>> = {
  '2025-11-25': async (url) => {
    const client = await RawClient.open(url);
    return { call: (name, args = {}) => client.callTool(name, args), [Symbol.dispose]: () => client[Symbol.dispose]() };
  },
  '2026-07-28': (url) => {
    const client = new ModernClient(url);
    return Promise.resolve({
      call: (name, args = {}) => client.call(name, { arguments: args }),
      [Symbol.dispose]: () => client[Symbol.dispose](),
    });
  },
};

/** Strikes; what it gets ready before is not part of the figures. */
type Fault = (workers: WorkersUnderTest) => Promise<() => unknown>;

/** Kills the processes of a role that run, beside another one. */
const killed =
  (role: 'session' | 'backend'): Fault =>
  async (workers) => {
    const before = workers.running(role);
    await workers.gateway.startPart(role);
    return () => before.map((process) => process.kill('SIGKILL'));
  };

const faults: Readonly<Record<string, Fault>> = {
  'no fault': () => Promise.resolve(() => undefined),
  'session worker killed': killed('session'),
  'backend worker killed': killed('backend'),
  'NATS killed and started': (workers) => Promise.resolve(() => workers.gateway.restartBus()),
};

interface Found {
  inFlight: number;
  answered: number;
  twice: number;
  interrupted: number;
  readonly nextMs: number[];
}

/** Calls are in flight when a fault strikes, and others follow at once. */
async function strike(
  workers: WorkersUnderTest,
  fault: Fault,
  open: (typeof eras)[string],
  found: Found,
): Promise<void> {
  const { upstream, gateway } = workers;
  using client = await open(gateway.url);
  await client.call('up__echo');
  const made = upstream.calls.values.length;
  const numbers = Array.from({ length: callsAtOnce }, (_, index) => made + index);
  const slow = numbers.map((number) =>
    client.call('up__slow', { number }).then(
      ({ last }) => last.result !== undefined,
      () => false,
    ),
  );
  await upstream.calls.until(made + callsAtOnce);
  const act = await fault(workers);
  const struck = act();
  const since = performance.now();
  const isAnswered = async (): Promise<boolean> => {
    const answer = await client.call('up__echo').catch(() => undefined);
    if (answer?.last.result === undefined) found.interrupted += 1;
    return answer?.last.result !== undefined;
  };
  const follow = async (): Promise<void> => {
    while (performance.now() - since < limitMs)
      if (await isAnswered()) {
        found.nextMs.push(performance.now() - since);
        return;
      }
  };
  await Promise.all(numbers.map(() => follow()));
  await struck;
  const got = upstream.calls.values.slice(made).filter(({ name }) => name === 'slow');
  for (const call of got) call.answer(text(String(call.args['number'])));
  found.inFlight += callsAtOnce;
  found.answered += (await Promise.all(slow)).filter(Boolean).length;
  found.twice += got.length - new Set(got.map(({ args }) => args['number'])).size;
}

function within(times: readonly number[], part: number): string {
  const sorted = times.toSorted((a, b) => a - b);
  const time = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return time === undefined ? '-' : `${Math.round(time)} ms`;
}

console.log('| fault | era | in flight | answered | executed twice | following, interrupted | next p50 | next p99 |');
console.log('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |');
for (const [name, fault] of Object.entries(faults)) {
  for (const [era, open] of Object.entries(eras)) {
    await using workers = await WorkersUnderTest.start();
    const found: Found = { inFlight: 0, answered: 0, twice: 0, interrupted: 0, nextMs: [] };
    for (let round = 0; round < rounds; round += 1) await strike(workers, fault, open, found);
    const { inFlight, answered, twice, interrupted, nextMs } = found;
    console.log(
      `| ${name} | ${era} | ${inFlight} | ${answered} | ${twice} | ${interrupted} | ${within(nextMs, 0.5)} | ${within(nextMs, 0.99)} |`,
    );
  }
}
