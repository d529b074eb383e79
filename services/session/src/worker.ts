/** The sessions of one process: opens them, owns their subjects, ends those nobody uses. */
import { catalogBucket, Heart, openStreamJournal, sessionsBucket, subjects, type Bus, type Journal, type KeyValue, type Subscription, type Watch } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorText, fault, idSequence, newSessionId, newWorkerId, sessionKey, toErrorObject,
  type AdoptReply, type Caller, type ExchangeId, type GatewayFault, type OpenCommand, type OpenReply, type Presence, type Principal, type ServerName, type SessionKey, type SessionRecord, type StreamEntry, type WorkerId,
} from '@omnibus/protocol';
import type { Logger, Metrics, Tracing } from '@omnibus/telemetry';
import { ExchangeWatch } from './exchange/exchange-watch.ts';
import type { TimeLimits } from './exchange/exchange.ts';
import { endpointDefinitions } from './routing/endpoints.ts';
import { Views } from './routing/views.ts';
import type { SessionHost } from './host.ts';
import { ModernDesk } from './modern/desk.ts';
import { sharedSealer, type Sealer } from './sealer.ts';
import { SessionRecords } from './session-records.ts';
import { Session } from './session.ts';

export interface SessionWorkerOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

interface Held {
  readonly session: Session;
  subscription: Subscription | undefined;
  /** Another worker may have it: what still comes here is sent on. */
  isReleased: boolean;
}

/** Records read at once after a reconnect. */
const verifiedAtOnce = 50;
/** How often idle sessions are looked for, as a part of the idle time. */
const sweepsPerIdleTime = 10;

export class SessionWorker {
  readonly #options: SessionWorkerOptions;
  readonly #host: SessionHost;
  readonly #worker: WorkerId;
  readonly #records: SessionRecords;
  readonly #views: Views;
  readonly #desk: ModernDesk;
  readonly #watch: ExchangeWatch;
  readonly #sessions = new Map<SessionKey, Held>();
  readonly #perPrincipal = new Map<Principal, number>();
  /** Where sessions come in, and what those that are there hear. */
  #inlets: Subscription[] = [];
  #news: Watch[] = [];
  #config: Config;
  #isStopping = false;
  readonly #heart: Heart<Presence>;

  static async create(options: SessionWorkerOptions): Promise<SessionWorker> {
    const { bus } = options;
    const streams = bus.isShared ? await openStreamJournal(bus, options.log) : undefined;
    return new SessionWorker(options, await sharedSealer(bus), await bus.keyValue(sessionsBucket), streams);
  }

  private constructor(options: SessionWorkerOptions, sealer: Sealer, records: KeyValue<SessionRecord>, streams: Journal<StreamEntry> | undefined) {
    const { config, bus, wheel, log, metrics, tracing } = options;
    this.#options = options;
    this.#config = config;
    this.#views = new Views(endpointDefinitions(config), wheel, (endpoint, changes) => {
      for (const { session } of this.#sessions.values()) if (session.caller.endpoint === endpoint) session.listsChanged(changes);
      this.#desk.listsChanged(endpoint, changes);
    });
    const worker = newWorkerId('session');
    this.#worker = worker;
    this.#records = new SessionRecords({ records, worker, wheel, log, taken: (key) => this.#lose(key) });
    this.#heart = new Heart<Presence>({ bus, clock: wheel, subject: subjects.presence, sign: (isLeaving) => ({ worker, isLeaving, reconnects: bus.reconnects }), returned: () => void this.#verify() });
    this.#watch = new ExchangeWatch({
      bus, wheel, log,
      changed: (servers) => {
        for (const server of servers) {
          for (const { session } of this.#sessions.values()) session.adaptersChanged(server);
          this.#desk.adaptersChanged(server);
        }
      },
    });
    this.#host = {
      watch: this.#watch,
      bus, wheel, log, metrics, tracing, sealer, streams,
      drainMs: () => this.#config.timeouts.drain,
      limits: config.limits,
      nextExchangeId: idSequence<ExchangeId>(worker),
      view: ({ endpoint }: Caller) => this.#views.get(endpoint),
      timeLimits: (server, tool) => this.#timeLimits(server, tool),
    };
    this.#desk = new ModernDesk(this.#host, worker, () => this.#config.timeouts.human);
    metrics.beforeScrape(() => {
      metrics.sessionsByState(this.counts());
      metrics.parkedCalls.set(this.#desk.parked);
    });
  }

  async start(): Promise<void> {
    const { bus } = this.#options;
    const catalog = await bus.keyValue(catalogBucket);
    this.#news = [
      await catalog.watch((change) => this.#views.catalogChanged(change)),
      await bus.subscribe(subjects.notices, (notice) => {
        for (const { session } of this.#sessions.values()) session.hear(notice);
        this.#desk.hear(notice);
      }),
    ];
    this.#inlets = [
      await bus.subscribe(subjects.sessionAdopt, ({ key }, reply) => void this.#adopt(key).then((outcome) => reply({ outcome })), { queue: 'session' }),
      await bus.subscribe(subjects.sessionOpen, (command, reply) => this.#open(command, reply), { queue: 'session' }),
    ];
    // Heard to the end: what a worker that leaves still works on is asked of it.
    await bus.subscribe(subjects.sessionAt(this.#worker), ({ key, streams }, reply) => reply({ key, streams: this.#sessions.get(key)?.session.openStreams(streams) ?? [] }));
    await this.#desk.start();
    if (bus.isShared) await this.#watch.start();
    await this.#heart.start();
    this.#sweepLater();
  }

  /** Sessions by state. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { session: { state } } of this.#sessions.values()) counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  }

  /** Applies a changed configuration to sessions that exist and to those to come. */
  apply(config: Config): void {
    this.#config = config;
    this.#timeLimitsCache.clear();
    this.#views.redefine(endpointDefinitions(config));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#inlets.map((inlet) => inlet.drain()));
    const { drain } = this.#config.timeouts;
    this.#watch.stop();
    const { bus } = this.#options;
    if (!bus.isShared) {
      await Promise.all([this.#desk.stop(drain), ...[...this.#sessions.values()].map(({ session }) => session.drain(drain))]);
    } else {
      await Promise.all([this.#desk.stop(drain), ...[...this.#sessions.values()].map((held) => this.#handOver(held, drain))]);
      this.#heart.stop();
    }
    for (const watch of this.#news) watch.close();
  }

  /** Another worker goes on with a session: its record is written, nobody is asked here any more, its streams move. */
  async #handOver(held: Held, limitMs: number): Promise<void> {
    const { session, subscription } = held;
    await this.#records.release(session.key);
    this.#options.metrics.sessionsHandedOver.inc();
    held.isReleased = true;
    // Who asks from now on finds nobody, and asks another worker.
    await subscription?.drain();
    await session.handOver(limitMs);
  }

  async #adopt(key: SessionKey): Promise<AdoptReply['outcome']> {
    if (this.#sessions.has(key)) return 'held';
    if (this.#isStopping || this.#sessions.size >= this.#config.limits.maxSessions) return 'busy';
    try {
      const record = await this.#records.adopt(key);
      if (record === 'unknown') return 'unknown';
      if (record === 'taken' || this.#sessions.has(key)) return 'held';
      const session = this.#hold(key, record.caller);
      session.restore(record);
      await this.#listen(session);
      this.#options.metrics.sessionsAdopted.inc();
      return 'held';
    } catch (error) {
      this.#options.log.error({ err: error, session: key }, 'a session could not be taken over');
      return 'busy';
    }
  }

  /** The session is another worker's, which took it over while we could not be reached. */
  #lose(key: SessionKey): void {
    const held = this.#sessions.get(key);
    if (held === undefined) return;
    this.#options.log.warn({ session: key }, 'a session was taken over by another worker');
    this.#options.metrics.sessionsLost.inc();
    this.#forget(held.session);
    held.session.abandon();
  }

  /** While we were cut off or did not run, other workers may have taken sessions over. */
  async #verify(): Promise<void> {
    const keys = [...this.#sessions.keys()];
    for (let start = 0; start < keys.length; start += verifiedAtOnce) {
      await Promise.all(keys.slice(start, start + verifiedAtOnce).map((key) => this.#records.verify(key)));
    }
  }

  #hold(key: SessionKey, caller: Caller): Session {
    const session: Session = new Session(key, caller, this.#host, {
      released: (ended) => {
        this.#records.remove(ended.key);
        this.#forget(ended);
      },
      changed: (changed) => this.#records.save(changed.key, changed.record(this.#worker)),
    });
    this.#sessions.set(key, { session, subscription: undefined, isReleased: false });
    this.#perPrincipal.set(caller.principal, (this.#perPrincipal.get(caller.principal) ?? 0) + 1);
    return session;
  }

  /** The queue group keeps a command from being served twice while two workers believe that they hold the session. */
  async #listen(session: Session): Promise<void> {
    const held = this.#sessions.get(session.key);
    const subscription = await this.#options.bus.subscribe(subjects.session(session.key), (command, answer) => {
      if (held?.isReleased === true) answer({ kind: 'moved' });
      else session.receive(command, answer);
    }, { queue: 'owner' });
    if (held !== undefined && this.#sessions.get(session.key) === held) held.subscription = subscription;
    else subscription.close();
  }

  #open({ caller, request }: OpenCommand, reply: (answer: OpenReply) => void): void {
    const problem = this.#openProblem(caller);
    if (problem !== undefined) {
      this.#options.metrics.refused(problem.reason);
      reply({ kind: 'refused', fault: problem });
      return;
    }
    const view = this.#views.get(caller.endpoint);
    if (view === undefined) {
      reply({ kind: 'refused', fault: fault('http.path_unknown') });
      return;
    }
    if (typeof request.params?.['protocolVersion'] !== 'string') {
      reply({ kind: 'answered', text: errorText(request.id, toErrorObject(fault('params.invalid', 'params.protocolVersion must be a string'))) });
      return;
    }
    const id = newSessionId();
    const session = this.#hold(sessionKey(id), caller);
    const text = session.open(request, view);
    this.#records.create(session.key, session.record(this.#worker)).then(() => this.#listen(session)).then(
      () => {
        this.#options.metrics.sessionsOpened.inc();
        reply({ kind: 'opened', session: id, text });
      },
      (error: unknown) => {
        this.#forget(session);
        this.#options.log.error({ err: error }, 'a session could not be opened');
        reply({ kind: 'refused', fault: fault('gateway.unavailable') });
      },
    );
  }

  #openProblem({ principal }: Caller): GatewayFault | undefined {
    const { maxSessions, maxSessionsPerPrincipal } = this.#options.config.limits;
    if (this.#isStopping) return fault('gateway.draining');
    if (this.#sessions.size >= maxSessions || (this.#perPrincipal.get(principal) ?? 0) >= maxSessionsPerPrincipal) return fault('session.limit');
    return undefined;
  }

  #forget({ key, caller: { principal } }: Session): void {
    const held = this.#sessions.get(key);
    if (held === undefined) return;
    this.#sessions.delete(key);
    held.subscription?.close();
    const left = (this.#perPrincipal.get(principal) ?? 1) - 1;
    if (left === 0) this.#perPrincipal.delete(principal);
    else this.#perPrincipal.set(principal, left);
  }

  readonly #timeLimitsCache = new Map<string, TimeLimits>();

  #timeLimits(server: ServerName, tool: string | undefined): TimeLimits {
    const toolSettings = tool === undefined ? undefined : this.#config.mcpServers[server]?.tools[tool];
    const key = toolSettings === undefined ? server : `${server}/${tool}`;
    const cached = this.#timeLimitsCache.get(key);
    if (cached !== undefined) return cached;
    const { timeouts, mcpServers } = this.#config;
    const serverSettings = mcpServers[server];
    const limits = {
      callMs: toolSettings?.timeout ?? serverSettings?.timeout ?? timeouts.call,
      humanMs: timeouts.human,
      taskMs: timeouts.task,
      maxMs: toolSettings?.maxTime ?? serverSettings?.maxTime ?? timeouts.max,
    };
    this.#timeLimitsCache.set(key, limits);
    return limits;
  }

  #sweepLater(): void {
    this.#options.wheel.schedule(this.#config.timeouts.idleSession / sweepsPerIdleTime, () => {
      const now = performance.now();
      for (const { session } of [...this.#sessions.values()]) if (session.idleMs(now) >= this.#config.timeouts.idleSession) session.expire();
      if (!this.#isStopping) this.#sweepLater();
    });
  }
}
