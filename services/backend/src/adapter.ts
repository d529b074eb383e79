/**
 * Everything one configured server needs: its connection, its bulkhead, its entry in the catalogue, and the bus subjects
 * on which sessions reach it.
 *
 * Invariants
 *  A1  Every call gets exactly one final event, unless it was cancelled; then none.
 *  A2  A call's place in the bulkhead is given back exactly once.
 *  A3  What a server announced is in the catalogue before anyone hears of it.
 */
import { catalogBucket, subjects, type Bus, type KeyValue, type Subscription } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import { Bulkhead, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  changeKinds, changeNotifications, fault, listKinds, noAnnouncements, noLists,
  type CallCommand, type CatalogLists, type CatalogRecord, type ChangeKind, type ControlCommand, type ExchangeEvent, type ExchangeId,
  type JsonObject, type Limits, type ListKind, type LogLevel, type ServerName, type SessionKey,
} from '@omnibus/protocol';
import type { Dispatcher } from 'undici';
import type { ServerConfig } from '@omnibus/config';
import type { CallMeter, CallResult, Logger, Metrics } from '@omnibus/telemetry';
import { readList } from './catalog-reader.ts';
import { UpstreamConnection, type Outcome, type Waiter } from './connection.ts';
import { setLevelParams } from './dialect/legacy/messages.ts';
import type { ServerIntroduction } from './dialect/legacy/handshake.ts';
import { LogLevels } from './log-levels.ts';
import { Subscriptions } from './subscriptions.ts';
import { transportFactory } from './transport/factory.ts';

export interface AdapterOptions {
  readonly server: ServerName;
  readonly config: ServerConfig;
  /** The folder relative paths of the configuration start from. */
  readonly baseFolder: string;
  readonly limits: Limits;
  readonly dispatcher: Dispatcher;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
}

class Call extends Link {
  readonly command: CallCommand;
  readonly reply: (event: ExchangeEvent) => void;
  readonly arrivedAt = performance.now();
  readonly limit: Deadline;
  /** Undefined while it waits for a place. */
  running: { readonly id: number; readonly leave: () => void } | undefined;

  constructor(command: CallCommand, reply: (event: ExchangeEvent) => void, limit: Deadline) {
    super();
    this.command = command;
    this.reply = reply;
    this.limit = limit;
  }
}

/** The session ends a call at its limit; the adapter waits this much longer, for sessions that are gone. */
const orphanGraceMs = 5_000;

const kindsOf: Record<ChangeKind, readonly ListKind[]> = { tools: ['tools'], prompts: ['prompts'], resources: ['resources', 'resourceTemplates'] };

export class Adapter {
  readonly #options: AdapterOptions;
  readonly #connection: UpstreamConnection;
  readonly #bulkhead: Bulkhead;
  readonly #meter: CallMeter;
  readonly #calls = new Ring<Call>();
  readonly #subscriptions = new Subscriptions();
  readonly #levels = new LogLevels();
  #catalog: KeyValue<CatalogRecord> | undefined;
  #record: CatalogRecord;
  #busSubscriptions: Subscription[] = [];
  /** Lists to read again; emptied by the one reading that runs. */
  #stale = new Set<ChangeKind>();
  #isReading = false;
  #settled: () => void = () => undefined;
  /** Resolves once the server is up with its lists published, or its first attempt has failed. */
  readonly firstAttempt: Promise<void>;

  constructor(options: AdapterOptions) {
    this.#options = options;
    const { server, config, wheel, log, metrics } = options;
    this.#bulkhead = new Bulkhead({ concurrency: config.concurrency, maxWaiting: config.maxWaiting });
    this.#meter = metrics.callMeter(server);
    this.#record = { server, status: 'down', problem: 'it is still connecting', capabilities: {}, lists: noLists, announcements: noAnnouncements };
    this.firstAttempt = new Promise((resolve) => {
      this.#settled = resolve;
    });
    this.#connection = new UpstreamConnection({
      server, wheel, log, metrics,
      createTransport: transportFactory(options),
      isExclusive: config.command !== undefined,
      connectTimeoutMs: config.connectTimeout,
      backoff: { minMs: config.restart.minDelay, maxMs: config.restart.maxDelay },
      observer: {
        ready: (introduction) => void this.#becomeReady(introduction),
        lost: (problem) => this.#becomeLost(problem),
        notification: (method, params) => this.#hear(method, params),
      },
    });
  }

  get record(): CatalogRecord {
    return this.#record;
  }

  async start(): Promise<void> {
    const { bus, server } = this.#options;
    this.#catalog = await bus.keyValue(catalogBucket);
    this.#busSubscriptions = [
      await bus.subscribe(subjects.backend(server), (command, reply) => this.#call(command, reply), { queue: 'backend' }),
      await bus.subscribe(subjects.backendControl(server), (command) => this.#control(command)),
    ];
    this.#connection.start();
  }

  /**
   * Takes no new call, lets running ones finish within the limit, closes the connection.
   * @param isRemoved the server left the configuration, so it leaves the catalogue too.
   */
  async stop(drainMs: number, isRemoved: boolean): Promise<void> {
    for (const subscription of this.#busSubscriptions) subscription.close();
    await this.#drained(drainMs);
    await this.#connection.stop();
    if (isRemoved) {
      await this.#catalog?.delete(this.#options.server);
      this.#options.metrics.removeServer(this.#options.server);
    }
  }

  reportLoad(): void {
    this.#options.metrics.upstreamLoad(this.#options.server, this.#bulkhead.running, this.#bulkhead.waiting);
  }

  #drained(limitMs: number): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const limit = this.#options.wheel.schedule(limitMs, resolve);
      this.#onIdle = () => {
        limit.cancel();
        resolve();
      };
    });
  }

  #onIdle: (() => void) | undefined;

  // --- calls -------------------------------------------------------------------------------------------------------

  #call(command: CallCommand, reply: (event: ExchangeEvent) => void): void {
    const { server, wheel } = this.#options;
    if (!this.#connection.isOpen) {
      reply({ kind: 'fault', fault: fault('upstream.unavailable', `server "${server}" is not available: ${this.#connection.problem}`, { server }) });
      this.#meter.finished('fault', 0);
      return;
    }
    const limit = wheel.schedule(command.context.maxTimeMs + orphanGraceMs, () => this.#cancel(command.exchange, 'the time limit has passed'));
    const call = new Call(command, reply, limit);
    this.#calls.add(call);
    const isTaken = this.#bulkhead.run((leave) => this.#run(call, leave));
    if (!isTaken) {
      const { concurrency, maxWaiting } = this.#options.config;
      this.#finish(call, { kind: 'fault', fault: fault('upstream.busy', `server "${server}" is busy: ${concurrency} requests run and ${maxWaiting} wait`, { server }) });
    }
  }

  #run(call: Call, leave: () => void): void {
    const { command } = call;
    if (!this.#calls.has(call)) {
      leave(); // A2: cancelled while it waited.
      return;
    }
    const counted = this.#countSubscription(command);
    if (counted === 'known') {
      leave();
      this.#finish(call, { kind: 'result', result: {} });
      return;
    }
    const waiter: Waiter = {
      progress: ({ token: _token, ...progress }) => call.reply({ kind: 'progress', ...progress }),
      log: (params) => call.reply({ kind: 'log', params }),
      settle: (outcome) => {
        leave(); // A2
        if (outcome.kind !== 'result' && command.method === 'resources/subscribe') this.#subscriptions.remove(command.params['uri'] as string, command.context.session);
        this.#finish(call, outcome);
      },
    };
    call.running = { id: this.#connection.request(command.method, command.params, waiter, command.context.wantsProgress), leave };
  }

  /** `known`: the server needs not be told, since another session listens already or still does. */
  #countSubscription({ method, params, context }: CallCommand): 'known' | 'new' | undefined {
    const uri = params['uri'] as string;
    if (method === 'resources/subscribe') return this.#subscriptions.add(uri, context.session) ? 'new' : 'known';
    if (method === 'resources/unsubscribe') return this.#subscriptions.remove(uri, context.session) ? 'new' : 'known';
    return undefined;
  }

  #finish(call: Call, outcome: Outcome): void {
    this.#forget(call, resultOf(outcome));
    call.reply(outcome); // A1
  }

  #forget(call: Call, result: CallResult): void {
    if (!this.#calls.remove(call)) return;
    call.limit.cancel();
    this.#meter.finished(result, (performance.now() - call.arrivedAt) / 1_000);
    if (this.#calls.size === 0) this.#onIdle?.();
  }

  #control(command: ControlCommand): void {
    switch (command.kind) {
      case 'cancel':
        this.#cancel(command.exchange, command.reason);
        return;
      case 'log-level':
        this.#setLevel(() => this.#levels.set(command.session, command.level));
        return;
      case 'session-ended':
        this.#forgetSession(command.session);
    }
  }

  #cancel(exchange: ExchangeId, reason: string): void {
    const call = this.#calls.toArray().find(({ command }) => command.exchange === exchange);
    if (call === undefined) return;
    this.#forget(call, 'cancelled');
    if (call.running === undefined) return;
    this.#connection.cancel(call.running.id, reason);
    call.running.leave(); // A2
  }

  #forgetSession(session: SessionKey): void {
    this.#setLevel(() => this.#levels.remove(session));
    for (const uri of this.#subscriptions.removeSession(session)) this.#tell('resources/unsubscribe', { uri });
  }

  #setLevel(change: () => void): void {
    const before = this.#levels.mostVerbose;
    change();
    const after = this.#levels.mostVerbose;
    if (after !== undefined && after !== before) this.#sendLevel(after);
  }

  #sendLevel(level: LogLevel): void {
    if ('logging' in this.#record.capabilities) this.#tell('logging/setLevel', setLevelParams(level));
  }

  /** A request whose answer changes nothing for us. */
  #tell(method: string, params: JsonObject): void {
    if (!this.#connection.isReady) return;
    void this.#connection.ask(method, params).then((outcome) => {
      if (outcome.kind !== 'result') this.#options.log.debug({ method, outcome }, 'the server did not take a setting');
    });
  }

  // --- catalogue ---------------------------------------------------------------------------------------------------

  async #becomeReady({ revision, capabilities, instructions }: ServerIntroduction): Promise<void> {
    this.#record = { ...this.#record, revision, capabilities, ...(instructions === undefined ? {} : { instructions }) };
    const level = this.#levels.mostVerbose;
    if (level !== undefined) this.#sendLevel(level);
    for (const uri of this.#subscriptions.uris) this.#tell('resources/subscribe', { uri });
    for (const kind of changeKinds) this.#stale.add(kind);
    await this.#readStale();
    this.#settled();
  }

  #becomeLost(problem: string): void {
    this.#options.log.warn({ problem }, 'server lost');
    void this.#publish({ ...this.#record, status: 'down', problem }).then(this.#settled);
  }

  #hear(method: string, params: JsonObject | undefined): void {
    const { bus, server, metrics } = this.#options;
    const kind = changeKinds.find((each) => changeNotifications[each] === method);
    if (kind !== undefined) {
      this.#record = { ...this.#record, announcements: { ...this.#record.announcements, [kind]: this.#record.announcements[kind] + 1 } };
      this.#stale.add(kind);
      void this.#readStale();
    } else if (method === 'notifications/resources/updated' && typeof params?.['uri'] === 'string') {
      const sessions = this.#subscriptions.listeners(params['uri']);
      if (sessions.length > 0) bus.publish(subjects.notices, { kind: 'resource-updated', server, uri: params['uri'], sessions });
    } else if (method === 'notifications/message' && params !== undefined) {
      bus.publish(subjects.notices, { kind: 'log', server, params });
    } else {
      metrics.dropped('notification_unknown');
    }
  }

  /** Reads what is stale and publishes it; changes that come meanwhile are read in the next round. */
  async #readStale(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#stale.size > 0 && this.#connection.isReady) {
        const kinds = [...this.#stale];
        this.#stale.clear();
        const lists = await this.#readLists(kinds.flatMap((kind) => kindsOf[kind]));
        if (!this.#connection.isReady) return;
        const { problem: _problem, ...record } = this.#record;
        await this.#publish({ ...record, status: 'up', lists: { ...this.#record.lists, ...lists } }); // A3
      }
    } finally {
      this.#isReading = false;
    }
  }

  async #readLists(kinds: readonly ListKind[]): Promise<Partial<CatalogLists>> {
    const { log, limits } = this.#options;
    const { capabilities } = this.#record;
    const readings = await Promise.all(kinds.map(async (kind) => {
      if (!((kind === 'resourceTemplates' ? 'resources' : kind) in capabilities)) return [kind, []] as const;
      const reading = await readList(kind, (method, params) => this.#connection.ask(method, params), limits);
      if ('failed' in reading) {
        log.warn({ problem: reading.failed }, 'a list of the server could not be read');
        return undefined;
      }
      if (reading.problems.length > 0) log.warn({ problems: reading.problems.slice(0, 10), count: reading.problems.length }, 'entries of a list were left out');
      return [kind, reading.entries] as const;
    }));
    return Object.fromEntries(readings.filter((reading) => reading !== undefined));
  }

  /** Resolves when it is written, or cannot be. */
  async #publish(record: CatalogRecord): Promise<void> {
    this.#record = record;
    for (const kind of listKinds) this.#options.metrics.catalogEntries(record.server, kind, record.status === 'up' ? record.lists[kind].length : 0);
    try {
      await this.#catalog?.put(record.server, record);
    } catch (error) {
      this.#options.log.error({ err: error }, 'the catalogue could not be written');
    }
  }
}

function resultOf(outcome: Outcome): CallResult {
  return outcome.kind === 'result' && outcome.result['isError'] === true ? 'tool_error' : outcome.kind;
}
