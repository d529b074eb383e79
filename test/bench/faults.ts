/**
 * `npm run bench -- faults [ROUNDS [PART OF A ROW'S NAME]]`: what a fault costs calls. For each fault and era, calls are in flight when the fault strikes, and as
 * many follow in that moment, which their clients make again until they get an answer. A client that loses its connection sends the same request again, as
 * docs/reference/guarantees.md describes. Printed are the calls in flight, those that their clients get an answer to, those that the server got twice, the
 * following calls that were interrupted, and the time from the fault to the next answer.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { presenceMs, repeatKey, repeatsKey, type JsonObject } from '@omnibus/protocol';
import { Fleet } from '../chaos/fleet.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { ModernClient } from '../support/modern-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { WorkersUnderTest } from '../support/workers-under-test.ts';

const rounds = Number(process.argv[2] ?? 5);
const chosen = process.argv[3] ?? '';
/** A following call without an answer by then counts as interrupted, and its client gives up. */
const limitMs = 30_000;
/** Milliseconds until a client without a connection tries again. */
const returnMs = 20;

type Call = (name: string, args?: JsonObject) => Promise<Answer>;

/** Clients of both eras; each comes back with the same request if it loses its connection. */
const eras: Readonly<Record<string, (url: () => string) => Promise<Call>>> = {
  '2025-11-25': async (url) => {
    const client = await RawClient.open(url());
    let id = 0;
    return (name, args = {}) => {
      id += 1;
      const body = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
      return untilAnswered(() => client.at(url()).post(body));
    };
  },
  '2026-07-28': (url) => {
    const composing = new ModernClient(url());
    return Promise.resolve((name, args = {}) => {
      const meta: JsonObject = { [repeatKey]: randomUUID() };
      const { body, headers } = composing.compose('tools/call', { name, arguments: args, _meta: meta });
      const params = body['params'] as JsonObject;
      const again = {
        ...body,
        params: { ...params, _meta: { ...(params['_meta'] as JsonObject), [repeatsKey]: true } },
      };
      return untilAnswered((attempt) => new RawClient(url()).post(attempt === 0 ? body : again, headers));
    });
  },
};

async function untilAnswered(send: (attempt: number) => Promise<Answer>): Promise<Answer> {
  const giveUpAt = performance.now() + limitMs;
  for (let attempt = 0; ; attempt += 1)
    try {
      return await send(attempt);
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await wait(returnMs);
    }
}

/** A gateway, and a fault of it. */
interface Scene extends AsyncDisposable {
  readonly upstream: Upstream;
  /** The address for clients now. */
  readonly url: () => string;
  /** Gets the fault ready, which is not part of the figures. @returns what strikes. */
  ready(): Promise<() => unknown>;
}

/** Lets edges become older than two signs of life: before that, they say of no call that they know every backend worker. */
function edgesKnowBackends(): Promise<void> {
  return wait(2 * presenceMs);
}

/** Three processes over one NATS. */
async function workersWith(
  ready: (workers: WorkersUnderTest, moveTo: (url: string) => void) => Promise<() => unknown>,
): Promise<Scene> {
  const workers = await WorkersUnderTest.start();
  await edgesKnowBackends();
  let { url } = workers.gateway;
  return {
    upstream: workers.upstream,
    url: () => url,
    ready: () => ready(workers, (next) => (url = next)),
    [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose](),
  };
}

/** Kills the processes of a role that run, beside another one. */
const killed = (role: 'session' | 'backend') => (): Promise<Scene> =>
  workersWith(async (workers) => {
    const before = workers.running(role);
    await workers.gateway.startPart(role);
    return () => before.map((process) => process.kill('SIGKILL'));
  });

const edgeKilled = (): Promise<Scene> =>
  workersWith(async (workers, moveTo) => {
    const before = workers.running('edge');
    const next = await workers.gateway.startEdge();
    return () => {
      moveTo(next);
      return before.map((process) => process.kill('SIGKILL'));
    };
  });

/** Two processes of each role on a NATS of three nodes, one of which is killed and stays away until the next round. */
async function nodeKilled(): Promise<Scene> {
  const upstream = await Upstream.start({
    tools: [tool('slow'), tool('echo')],
    onCall: (call) => (call.name === 'echo' ? call.answer(text('echoed')) : undefined),
  });
  const fleet = await Fleet.start({ prefix: 'always', mcpServers: { up: { url: upstream.url } } });
  using client = await RawClient.open(fleet.url);
  await client.untilTools((names) => names.includes('up__echo'));
  await edgesKnowBackends();
  let node = 0;
  return {
    upstream,
    url: () => fleet.url,
    async ready() {
      if (!fleet.node(node).isUp) await fleet.node(node).start();
      node += 1;
      return () => fleet.node(node).kill();
    },
    async [Symbol.asyncDispose]() {
      await fleet[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

interface Row {
  readonly scene: () => Promise<Scene>;
  /** Each with an equal number of the calls. */
  readonly clients: number;
  readonly calls: number;
}

const rows: Readonly<Record<string, Row>> = {
  'no fault': { scene: () => workersWith(() => Promise.resolve(() => undefined)), clients: 1, calls: 20 },
  'session worker killed': { scene: killed('session'), clients: 1, calls: 20 },
  'session worker of 40 clients killed': { scene: killed('session'), clients: 40, calls: 40 },
  'backend worker killed': { scene: killed('backend'), clients: 1, calls: 20 },
  'edge killed, its clients come back': { scene: edgeKilled, clients: 20, calls: 20 },
  'a NATS node of three killed': { scene: nodeKilled, clients: 20, calls: 20 },
  'NATS killed and started': {
    scene: () => workersWith((workers) => Promise.resolve(() => workers.gateway.restartBus())),
    clients: 1,
    calls: 20,
  },
};

interface Found {
  inFlight: number;
  answered: number;
  twice: number;
  interrupted: number;
  readonly nextMs: number[];
  /** The answers to interrupted calls that followed. */
  readonly reasons: Map<string, number>;
}

/** Calls are in flight when a fault strikes, and others follow at once. */
async function strike(scene: Scene, row: Row, open: (typeof eras)[string], found: Found): Promise<void> {
  const { upstream } = scene;
  const clients = await Promise.all(Array.from({ length: row.clients }, () => open(scene.url)));
  await Promise.all(clients.map((call) => call('up__echo')));
  const made = upstream.calls.values.length;
  const callsOf = Array.from({ length: row.calls }, (_, index) => ({
    call: clients[index % clients.length] as Call,
    number: made + index,
  }));
  const slow = callsOf.map(({ call, number }) =>
    call('up__slow', { number }).then(
      ({ last }) => last.result !== undefined,
      () => false,
    ),
  );
  await upstream.calls.until(made + row.calls);
  const act = await scene.ready();
  const struck = act();
  const since = performance.now();
  const isAnswered = async (call: Call): Promise<boolean> => {
    const answer = await call('up__echo').catch((error: unknown) => String(error));
    if (typeof answer !== 'string' && answer.last?.result !== undefined) return true;
    found.interrupted += 1;
    const reason = typeof answer === 'string' ? answer : `HTTP ${answer.status}: ${answer.body.slice(0, 300)}`;
    found.reasons.set(reason, (found.reasons.get(reason) ?? 0) + 1);
    return false;
  };
  const follow = async ({ call }: (typeof callsOf)[number]): Promise<void> => {
    while (performance.now() - since < limitMs)
      if (await isAnswered(call)) {
        found.nextMs.push(performance.now() - since);
        return;
      }
  };
  await Promise.all(callsOf.map(follow));
  await struck;
  const got = upstream.calls.values.slice(made).filter(({ name }) => name === 'slow');
  for (const call of got) call.answer(text(String(call.args['number'])));
  found.inFlight += row.calls;
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
for (const [name, row] of Object.entries(rows).filter(([each]) => each.includes(chosen))) {
  for (const [era, open] of Object.entries(eras)) {
    await using scene = await row.scene();
    const found: Found = { inFlight: 0, answered: 0, twice: 0, interrupted: 0, nextMs: [], reasons: new Map() };
    for (let round = 0; round < rounds; round += 1) await strike(scene, row, open, found);
    const { inFlight, answered, twice, interrupted, nextMs } = found;
    console.log(
      `| ${name} | ${era} | ${inFlight} | ${answered} | ${twice} | ${interrupted} | ${within(nextMs, 0.5)} | ${within(nextMs, 0.99)} |`,
    );
    for (const [reason, count] of found.reasons) console.error(`${count} x ${reason}`);
  }
}
