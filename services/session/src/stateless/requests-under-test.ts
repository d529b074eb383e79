/** Requests without a session before an older server, on a bus in memory: what their tests share. */
import { afterEach, beforeEach, vi } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { View, type EndpointDefinition } from '@omnibus/catalog';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  defaultLimits,
  idSequence,
  latestLegacyRevision,
  metaKeys,
  newRequestKey,
  newWorkerId,
  noAnnouncements,
  noLists,
  ownFormats,
  parseServerName,
  rootEndpoint,
  tasksExtension,
  type CallCommand,
  type CatalogRecord,
  type ControlCommand,
  type EndpointName,
  type ExchangeEvent,
  type ExchangeId,
  type InputKey,
  type JsonObject,
  type Limits,
  type ModernCommand,
  type ModernReply,
  type Principal,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { ExchangeWatch } from '../call/exchange-watch.ts';
import { Offers } from '../views/offers.ts';
import { Sealer } from '../public-ids/sealer.ts';
import { StatelessRequests } from './requests.ts';
import { noBarrier } from '../call/barrier.ts';
import { Gates } from '../call/gates.ts';
import { ownToolsOf } from '../call/own-tools.ts';
import { Watchers } from '../call/watchers.ts';
import type { StatelessHost } from './stateless-host.ts';

/** Requests to an adapter. */
export interface Asked {
  readonly server: ServerName;
  readonly command: CallCommand;
  readonly reply: (event: ExchangeEvent) => void;
}

/** One request of a client, and its answer. */
export interface Sent {
  readonly key: SessionKey;
  readonly frames: ModernReply[];
  /** The result, the error or the reason of the refusal. */
  readonly answer: () => JsonObject | undefined;
}

const up = parseServerName('up');

export function recordOf(server: ServerName, more: Partial<CatalogRecord> = {}): CatalogRecord {
  return {
    server,
    status: 'up',
    revision: latestLegacyRevision,
    capabilities: { tools: {}, resources: { subscribe: true }, tasks: { requests: { tools: { call: {} } } } },
    announcements: noAnnouncements,
    lists: {
      ...noLists,
      tools: [{ name: 'act', inputSchema: { type: 'object' } }],
      resources: [{ uri: 'up://one', name: 'one' }],
    },
    ...more,
  };
}

export class RequestsUnderTest {
  readonly bus = new MemoryBus(({ what, error }) => this.faults.push(`${what}: ${String(error)}`));
  readonly faults: string[] = [];
  /** The caller from now on. */
  principal: Principal = anonymous;
  /** The time limit of calls from now on, in milliseconds. */
  callMs = 10_000;
  /** Where requests come in from now on. */
  endpoint: EndpointName = rootEndpoint;
  /** With few ticks: tests let minutes pass. */
  readonly wheel = new DeadlineWheel({ tickMs: 250, onFault: (error) => this.faults.push(String(error)) });
  readonly metrics = new Metrics({ processMetrics: false });
  readonly asked: Asked[] = [];
  readonly controls: ControlCommand[] = [];
  readonly worker = newWorkerId('session');
  readonly requests: StatelessRequests;
  readonly #watch: ExchangeWatch;
  readonly #servers: readonly ServerName[];
  readonly #nextId = idSequence<ExchangeId>(newWorkerId('session'));
  #count = 0;

  constructor(limits: Partial<Limits>, records: readonly CatalogRecord[], isShared: boolean) {
    const { bus, wheel, metrics } = this;
    const log = createLogger({ level: 'silent', format: 'json' });
    this.#watch = new ExchangeWatch({
      bus,
      wheel,
      log,
      changed: (changed, hasGap) => {
        for (const server of changed) this.requests.listeners.adaptersChanged(server, hasGap);
      },
      workersChanged: () => undefined,
      reaching: (_server, workers) => workers,
      mustHear: () => false,
      keptFor: (_server, { standsAlone, client, session }) => (standsAlone ? client?.id : session),
    });
    const servers = records.map(({ server }) => server);
    this.#servers = servers;
    const definition: EndpointDefinition = {
      endpoint: rootEndpoint,
      servers,
      prefix: 'auto',
      rename: new Map(),
      pin: new Map(),
      pageSize: 100,
    };
    const view = new View(definition, new Map(records.map((record) => [record.server, record])));
    const host: StatelessHost = {
      bus,
      wheel,
      log,
      metrics,
      owner: isShared ? this.worker : undefined,
      callerProblem: () => undefined,
      listFilter: { on: undefined },
      undecided: () => undefined,
      factsOf: ({ facts }) => facts,
      placeOf: ({ endpoint }) => endpoint,
      sealer: new Sealer(),
      access: { on: undefined },
      limits: { ...defaultLimits, ...limits },
      adapters: this.#watch,
      nextExchangeId: () => this.#nextId(),
      view: () => view,
      whoFor: () => ({}),
      viewAlone: () => view,
      offers: new Offers({ bus, wheel, recordsOf: () => [] }),
      used: () => undefined,
      gates: new Gates([]),
      transforms: { on: [] },
      barrier: noBarrier,
      ownTools: ownToolsOf([]),
      resultGate: undefined,
      watchers: new Watchers([]),
      timeLimits: () => ({ callMs: this.callMs, maxMs: 2 * this.callMs, humanMs: 10_000, taskMs: 20_000 }),
    };
    this.requests = new StatelessRequests(host, this.worker, () => 10_000);
  }

  /** @param isShared whether other workers may continue its calls, as over NATS. */
  static async start(
    limits: Partial<Limits> = {},
    records: readonly CatalogRecord[] = [recordOf(up)],
    isShared = false,
  ): Promise<RequestsUnderTest> {
    const made = new RequestsUnderTest(limits, records, isShared);
    await made.#watch.start();
    await made.requests.start();
    for (const { server } of records) {
      await made.bus.subscribe(
        subjects.backend(server),
        (command, reply) => void made.asked.push({ server, command, reply }),
        { queue: 'backend' },
      );
      await made.bus.subscribe(subjects.backendControl(server), (command) => void made.controls.push(command));
    }
    return made;
  }

  /** A request as an edge sends it. @param origin the client's address. */
  command(method: string, params: JsonObject, origin?: string): ModernCommand {
    this.#count += 1;
    const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {}, extensions: { [tasksExtension]: {} } };
    const meta = { [metaKeys.clientCapabilities]: capabilities };
    return {
      kind: 'request',
      key: newRequestKey(),
      caller: { principal: this.principal, endpoint: this.endpoint, ...(origin === undefined ? {} : { origin }) },
      request: {
        jsonrpc: '2.0',
        id: this.#count,
        method,
        params: { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), ...meta } },
      },
      context: { capabilities, logLevel: undefined },
      parameterHeaders: undefined,
    };
  }

  send(method: string, params: JsonObject, origin?: string): Sent {
    const command = this.command(method, params, origin);
    const { key } = command;
    const frames: ModernReply[] = [];
    this.bus.request(subjects.modern(this.worker), command, {
      reply: (frame) => frames.push(frame),
      failed: (error) => this.faults.push(String(error)),
    });
    return { key, frames, answer: () => answerOf(frames.at(-1)) };
  }

  call(args: JsonObject = {}, more: JsonObject = {}, origin?: string): Sent {
    return this.send('tools/call', { name: 'act', arguments: args, ...more }, origin);
  }

  close({ key }: Sent): void {
    this.bus.publish(subjects.modernControl, { kind: 'closed', key, reason: 'the client closed the stream' });
  }

  /** The only backend worker leaves without an answer. */
  loseAdapters(): void {
    const worker = newWorkerId('backend');
    for (const isLeaving of [false, true])
      this.bus.publish(subjects.backendPresence, {
        worker,
        servers: this.#servers,
        formats: ownFormats,
        isLeaving,
        reconnects: 0,
      });
  }

  /** Exchanges that are on their way to servers. */
  get openExchanges(): number {
    return this.#watch.size;
  }

  stop(): void {
    this.#watch.stop();
  }

  /** Exchanges that were cancelled at the server. */
  get cancelled(): readonly ExchangeId[] {
    return this.controls.flatMap((command) => (command.kind === 'cancel' ? [command.exchange] : []));
  }

  /** Answers to servers. */
  get answers(): readonly Extract<ControlCommand, { kind: 'answer' }>[] {
    return this.controls.flatMap((command) => (command.kind === 'answer' ? [command] : []));
  }

  /** A value of the metrics. */
  async metric(name: string): Promise<number> {
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await this.metrics.text())?.[1]);
  }
}

function answerOf(frame: ModernReply | undefined): JsonObject | undefined {
  if (frame?.kind === 'refused') return { reason: frame.fault.reason, message: frame.fault.message };
  if (frame?.kind !== 'message' || !frame.isAnswer) return undefined;
  const { result, error } = JSON.parse(frame.text) as { readonly result?: JsonObject; readonly error?: JsonObject };
  return result ?? error;
}

/** In the tests of a file, time passes only when they say so. */
export function holdTime(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Asks the client something for a call. */
export const question = (input: InputKey, message = 'Well?'): ExchangeEvent => ({
  kind: 'input',
  input,
  method: 'elicitation/create',
  params: { message },
});
/** A client's answer to it. */
export const accepted: JsonObject = { action: 'accept', content: { yes: true } };
/** The end of a call. */
export const done: ExchangeEvent = { kind: 'result', result: { content: [] } };

/** Lets time pass, and everything be delivered. */
export async function pass(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** A call with a question that reached its client. */
export async function parked(
  test: RequestsUnderTest,
  origin?: string,
  args: JsonObject = {},
): Promise<{ readonly sent: Sent; readonly asked: Asked; readonly state: unknown; readonly keys: readonly string[] }> {
  const sent = test.call(args, {}, origin);
  await pass();
  const asked = test.asked.at(-1) as Asked;
  asked.reply(question(test.asked.length));
  await pass(50);
  const { requestState, inputRequests = {} } = (sent.answer() ?? {}) as {
    readonly requestState?: string;
    readonly inputRequests?: JsonObject;
  };
  return { sent, asked, state: requestState, keys: Object.keys(inputRequests) };
}
