/**
 * Clients at work while processes of every kind are killed, stopped and replaced, two of each at a time, on a real NATS. The
 * schedule follows from a seed: `OMNIBUS_CHAOS_SEED` and `OMNIBUS_CHAOS_SECONDS` choose another, and the seed is printed.
 */
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { endpointOf, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import type { RunningProcess } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const seed = Number(process.env['OMNIBUS_CHAOS_SEED'] ?? 20_261_121);
const seconds = Number(process.env['OMNIBUS_CHAOS_SECONDS'] ?? 25);
const clientCount = 6;
/** A call that has no answer by then has none. */
const answerMs = 30_000;

type Role = 'edge' | 'session' | 'backend';

/** The same numbers for the same seed (mulberry32). */
function randomNumbers(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6D_2B_79_F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Two of each role, replaced one at a time. */
class Fleet {
  readonly #gateway: GatewayUnderTest;
  readonly #parts: Record<Role, RunningProcess[]>;
  /** Where clients can connect now. */
  endpoints: string[] = [];

  private constructor(gateway: GatewayUnderTest, session: RunningProcess) {
    this.#gateway = gateway;
    this.#parts = { edge: [gateway.edge], session: [session], backend: [gateway.backend] };
  }

  static async start(gateway: GatewayUnderTest): Promise<Fleet> {
    const fleet = new Fleet(gateway, gateway.processes.find((part) => part !== gateway.edge && part !== gateway.backend) as RunningProcess);
    for (const role of ['edge', 'session', 'backend'] as const) fleet.#parts[role].push(await gateway.startPart(role));
    fleet.endpoints = await Promise.all(fleet.#parts.edge.map(endpointOf));
    return fleet;
  }

  /** Ends the older one of a role and starts another in its place. */
  async replace(role: Role, signal: NodeJS.Signals): Promise<void> {
    const [old, kept] = this.#parts[role] as [RunningProcess, RunningProcess];
    if (role === 'edge') this.endpoints = [await endpointOf(kept)];
    const ended = once(old.child, 'exit');
    old.kill(signal);
    const fresh = await this.#gateway.startPart(role);
    await ended;
    this.#parts[role] = [kept, fresh];
    this.endpoints = await Promise.all(this.#parts.edge.map(endpointOf));
  }
}

/** What became of the calls. */
class Tally {
  readonly lost: string[] = [];
  readonly wrong: string[] = [];
  readonly unanswered: string[] = [];
  answered = 0;
  interrupted = 0;
  /** Milliseconds from a fault to the next call that succeeded. */
  readonly recoveries: number[] = [];
  #faultAt: number | undefined;

  fault(): void {
    this.#faultAt ??= performance.now();
  }

  success(): void {
    this.answered += 1;
    if (this.#faultAt === undefined) return;
    this.recoveries.push(performance.now() - this.#faultAt);
    this.#faultAt = undefined;
  }
}

it('no session is lost, no answer wrong or missing, nothing done twice', { timeout: (seconds + 120) * 1_000 }, async () => {
  const executions = new Map<string, number>();
  await using upstream = await Upstream.start({
    tools: [{ ...tool('look'), annotations: { readOnlyHint: true } }, tool('act')],
    onCall: (call) => {
      const { name, args } = call;
      const tag = String(args['tag']);
      if (name === 'act') executions.set(tag, (executions.get(tag) ?? 0) + 1);
      call.answer(text(tag));
    },
  });
  await using gateway = await startGateway('nats', { timeouts: { call: '10s', drain: '3s' }, mcpServers: { up: { url: upstream.url } } });
  using waiting = await RawClient.open(gateway.url);
  await waiting.untilTools((names) => names.includes('act'));
  const fleet = await Fleet.start(gateway);
  const random = randomNumbers(seed);
  const tally = new Tally();
  const over = new AbortController();

  const sessions = await Promise.all(Array.from({ length: clientCount }, async () => (await RawClient.open(gateway.url)).session as string));
  const clients = sessions.map(async (session, index) => {
    for (let count = 0; !over.signal.aborted; count += 1) await callOnce(fleet, session, `${index}-${count}`, count % 2 === 0 ? 'look' : 'act', tally);
  });

  const endsAt = performance.now() + seconds * 1_000;
  const faults: string[] = [];
  while (performance.now() < endsAt) {
    const role = (['edge', 'session', 'backend', 'nats'] as const)[Math.floor(random() * 4)] as Role | 'nats';
    const signal = random() < 0.6 ? 'SIGKILL' : 'SIGTERM';
    faults.push(role === 'nats' ? 'NATS restarted' : `${signal} ${role}`);
    tally.fault();
    if (role === 'nats') await gateway.restartBus();
    else await fleet.replace(role, signal);
  }
  over.abort();
  await Promise.all(clients);

  const times = [...tally.recoveries].sort((a, b) => a - b);
  const quantile = (part: number): number => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
  const twice = [...executions].filter(([, count]) => count > 1).map(([tag]) => tag);
  process.stdout.write(`\nchaos, seed ${seed}: ${faults.length} faults (${faults.join(', ')}); ${tally.answered} calls answered, ${tally.interrupted} interrupted and said to be;\n`
    + `sessions lost ${tally.lost.length}, wrong answers ${tally.wrong.length}, executed twice ${twice.length}, unanswered ${tally.unanswered.length}; next success after a fault p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms\n`);
  expect({ lost: tally.lost, wrong: tally.wrong, twice, unanswered: tally.unanswered }).toEqual({ lost: [], wrong: [], twice: [], unanswered: [] });
  expect(tally.answered).toBeGreaterThan(seconds * 10);
  expect(faults.length).toBeGreaterThan(3);
});

/** One call of one session, at whichever edge is there. */
async function callOnce(fleet: Fleet, session: string, tag: string, name: string, tally: Tally): Promise<void> {
  const endpoint = fleet.endpoints[Number(tag.split('-', 1)[0]) % fleet.endpoints.length] as string;
  const client = new RawClient(endpoint);
  client.session = session;
  let answer: { readonly status: number; readonly last: Message | undefined };
  try {
    answer = await client.post({ jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name, arguments: { tag } } }, {}, AbortSignal.timeout(answerMs));
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') tally.unanswered.push(tag);
    else tally.interrupted += 1; // The edge is gone; the client knows that it does not know.
    return;
  }
  const { status, last } = answer;
  if (status === 404) tally.lost.push(tag);
  else if (last === undefined || last.id !== tag) tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
  else if (last.error !== undefined) tally.interrupted += 1;
  else if (JSON.stringify(last.result) === JSON.stringify(text(tag))) tally.success();
  else tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
}
