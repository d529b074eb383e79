/** The sessions of one process: opens them, owns their subjects, ends those nobody uses. */
import { catalogBucket, Heart, openStreamJournal, sessionsBucket, subjects, type Bus, type Journal, type KeyValue, type Subscription, type Watch } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorText, fault, idSequence, newSessionId, newWorkerId, sessionKey, toErrorObject,
  type AdoptCommand, type AdoptReply, type Caller, type CatalogRecord, type ExchangeId, type GatewayFault, type LateReply, type OpenCommand, type OpenReply, type PostedMessage, type Presence, type Principal, type QuestionId, type ServerName, type SessionKey, type SessionMessage, type SessionRecord, type StreamEntry, type WorkerId,
} from '@omnibus/protocol';
import type { Logger, Metrics, Tracing } from '@omnibus/telemetry';
import { ExchangeWatch } from './exchange/exchange-watch.ts';
import type { TimeLimits } from './exchange/exchange.ts';
import { endpointDefinitions } from './routing/endpoints.ts';
import { Views } from './routing/views.ts';
import type { SessionHost } from './host.ts';
import { ModernDesk } from './modern/desk.ts';
import { Peers } from './peers.ts';
import { Sealer } from './sealer.ts';
import { SessionRecords } from './session-records.ts';
import type { Reply } from './resumable-stream.ts';
import { Session } from './session.ts';

export interface SessionWorkerOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
  /** Of all workers of this gateway; left out, this is the only one, with a key of its own. */
  readonly sealer?: Sealer | undefined;
}

interface Held {
  readonly session: Session;
  /** Another worker may have it: what still comes here is to be sent there. */
  isReleased: boolean;
}

/** A worker that holds a session of which there is no record has this long to say so. */
const findMs = 300;

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
  /** What is said to sessions that are held here. */
  #commands: Subscription | undefined;
  #news: Watch[] = [];
  #catalog: KeyValue<CatalogRecord> | undefined;
  #config: Config;
  #isStopping = false;
  readonly #heart: Heart<Presence>;
  readonly #peers: Peers;

  static async create(options: SessionWorkerOptions): Promise<SessionWorker> {
    const { bus } = options;
    const streams = bus.isShared ? await openStreamJournal(bus, options.log) : undefined;
    return new SessionWorker(options, options.sealer ?? new Sealer(), await bus.keyValue(sessionsBucket), streams);
  }

  private constructor(options: SessionWorkerOptions, sealer: Sealer, records: KeyValue<SessionRecord>, streams: Journal<StreamEntry> | undefined) {
    const { config, bus, wheel, log, metrics, tracing } = options;
    this.#options = options;
    this.#config = config;
    this.#views = new Views(endpointDefinitions(config), {
      wheel,
      announce: (endpoint, changes) => {
        for (const { session } of this.#sessions.values()) if (session.caller.endpoint === endpoint) session.listsChanged(changes);
        this.#desk.listsChanged(endpoint, changes);
      },
      tell: (endpoint, problems) => log.warn({ endpoint, problems: problems.slice(0, 10), count: problems.length }, 'what servers offer and clients cannot be shown'),
      isLost: (backend) => this.#watch.isLost(backend),
      remove: (key) => void this.#catalog?.delete(key).catch((error: unknown) => log.warn({ err: error, key }, 'what a backend worker wrote that is gone could not be removed')),
    });
    const worker = newWorkerId('session');
    this.#worker = worker;
    this.#records = new SessionRecords({ records, worker, wheel, log, maxAgeMs: sessionsBucket.maxAgeMs, taken: (key) => this.#lose(key) });
    this.#heart = new Heart<Presence>({ bus, clock: wheel, subject: subjects.presence, sign: (isLeaving) => ({ worker, isLeaving, reconnects: bus.reconnects }), returned: () => void this.#verify() });
    this.#peers = new Peers({ bus, wheel, worker });
    this.#watch = new ExchangeWatch({
      bus, wheel, log,
      changed: (servers) => this.#adaptersChanged(servers),
      workersChanged: () => this.#views.workersChanged(),
      reaching: (server, workers) => this.#views.reaching(server, workers),
    });
    this.#host = {
      watch: this.#watch,
      bus, wheel, log, metrics, tracing, sealer, streams,
      drainMs: () => this.#config.timeouts.drain,
      limits: config.limits,
      nextExchangeId: idSequence<ExchangeId>(worker),
      nextQuestionId: idSequence<QuestionId>(worker),
      passOn: (key, asker, heldBefore, posted) => this.#passOn(key, asker, heldBefore, posted),
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
    this.#catalog = await bus.keyValue(catalogBucket);
    this.#news = [
      await this.#catalog.watch((change) => {
        this.#views.catalogChanged(change);
        this.#watch.catalogChanged();
      }),
      await bus.subscribe(subjects.notices, (notice) => {
        if (notice.kind === 'adapter-changed') {
          this.#adaptersChanged([notice.server]);
          return;
        }
        for (const { session } of this.#sessions.values()) session.hear(notice);
        this.#desk.hear(notice);
      }),
    ];
    this.#commands = await bus.subscribe(subjects.session(this.#worker), (message, answer) => this.#receive(message, answer));
    // Heard to the end: what a worker that leaves still works on is asked of it.
    await bus.subscribe(subjects.sessionStreams(this.#worker), ({ key, streams }, reply) => reply({ key, streams: this.#sessions.get(key)?.session.openStreams(streams) ?? [] }));
    await bus.subscribe(subjects.sessionLate(this.#worker), ({ key, posted }, reply) => reply({ outcome: this.#sessions.get(key)?.session.hearLate(posted) ?? 'gone' }));
    await bus.subscribe(subjects.sessionTaken(this.#worker), ({ key }) => this.#records.verify(key));
    await bus.subscribe(subjects.sessionFind, ({ key }, reply) => {
      if (this.#held(key) !== undefined) reply({ worker: this.#worker });
    });
    await this.#peers.start();
    await this.#desk.start();
    if (bus.isShared) await this.#watch.start();
    // Whoever is told that a session is held here has heard of this worker before.
    await this.#heart.start();
    const adopt = (command: AdoptCommand, reply: (answer: AdoptReply) => void): Promise<void> => this.#adopt(command).then(reply);
    const open = (command: OpenCommand, reply: (answer: OpenReply) => void): void => this.#open(command, reply);
    this.#inlets = [
      await bus.subscribe(subjects.sessionAdopt(undefined), adopt, { queue: 'session' }),
      await bus.subscribe(subjects.sessionOpen(undefined), open, { queue: 'session' }),
      await bus.subscribe(subjects.sessionAdopt(this.#worker), adopt),
      await bus.subscribe(subjects.sessionOpen(this.#worker), open),
    ];
    this.#sweepLater();
  }

  /** What servers offer and clients cannot be shown, in words. */
  get leftOut(): readonly string[] {
    return this.#views.leftOut;
  }

  /** What adapters are to know of sessions is said again. */
  #adaptersChanged(servers: readonly ServerName[]): void {
    for (const server of servers) {
      for (const { session } of this.#sessions.values()) session.adaptersChanged(server);
      this.#desk.adaptersChanged(server);
    }
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
    this.#records.stop();
    const { bus } = this.#options;
    if (!bus.isShared) {
      await Promise.all([this.#desk.stop(drain), ...[...this.#sessions.values()].map(({ session }) => session.drain(drain))]);
    } else {
      await Promise.all([this.#desk.stop(drain), ...[...this.#sessions.values()].map((held) => this.#handOver(held, drain))]);
      await this.#commands?.drain();
      this.#heart.stop();
      this.#peers.stop();
    }
    for (const watch of this.#news) watch.close();
  }

  /** Another worker goes on with a session: its record is written, nobody is asked here any more, its streams move. */
  async #handOver(held: Held, limitMs: number): Promise<void> {
    const { session } = held;
    await this.#records.release(session.key);
    this.#options.metrics.sessionsHandedOver.inc();
    held.isReleased = true;
    await session.handOver(limitMs);
  }

  /** The session, if it is not another worker's. */
  #held(key: SessionKey): Session | undefined {
    const held = this.#sessions.get(key);
    return held?.isReleased === false ? held.session : undefined;
  }

  #receive({ key, command }: SessionMessage, answer: Reply): void {
    // What it still works on is asked of the worker that works on it.
    const session = command.kind === 'probe' || command.kind === 'detach' ? this.#sessions.get(key)?.session : this.#held(key);
    if (session === undefined) answer({ kind: 'moved' });
    else session.receive(command, answer);
  }

  /** Only a worker that is known is asked: a client's string never becomes a subject. */
  async #passOn(key: SessionKey, asker: WorkerId, heldBefore: WorkerId | undefined, posted: PostedMessage): Promise<LateReply['outcome']> {
    if (asker === this.#worker) return 'closed';
    if (asker !== heldBefore && !this.#peers.others.includes(asker)) return 'gone';
    return (await this.#peers.ask(asker, subjects.sessionLate(asker), { key, posted }))?.outcome ?? 'gone';
  }

  async #adopt({ key, lost }: AdoptCommand): Promise<AdoptReply> {
    const here = { outcome: 'held', worker: this.#worker } as const;
    if (this.#held(key) !== undefined) return here;
    try {
      const recorded = await this.#records.read(key);
      if (recorded === undefined) return lost === undefined ? await this.#find(key) : { outcome: 'unknown' };
      const { worker: holder, caller } = recorded.value;
      if (holder !== lost && holder !== this.#worker) return { outcome: 'held', worker: holder };
      if (this.#isStopping || this.#sessions.size >= this.#config.limits.maxSessions) return { outcome: 'busy' };
      if (!(await this.#records.adopt(key, recorded))) return { outcome: 'busy' }; // Another worker was faster; whoever is asked next knows which.
      this.#hold(key, caller).restore(recorded.value);
      this.#options.metrics.sessionsAdopted.inc();
      if (holder !== this.#worker) this.#options.bus.publish(subjects.sessionTaken(holder), { key });
      return here;
    } catch (error) {
      this.#options.log.error({ err: error, session: key }, 'a session could not be taken over');
      return { outcome: 'busy' };
    }
  }

  /** A session that could not be recorded yet is known to the worker that holds it only. */
  #find(key: SessionKey): Promise<AdoptReply> {
    const { bus, wheel } = this.#options;
    if (!bus.isShared) return Promise.resolve({ outcome: 'unknown' });
    return new Promise((resolve) => {
      const finish = (reply: AdoptReply): void => {
        limit.cancel();
        pending.close();
        resolve(reply);
      };
      const limit = wheel.schedule(findMs, () => finish({ outcome: 'unknown' }));
      const pending = bus.request(subjects.sessionFind, { key }, { reply: ({ worker }) => finish({ outcome: 'held', worker }), failed: () => finish({ outcome: 'unknown' }) });
    });
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
    this.#sessions.set(key, { session, isReleased: false });
    this.#perPrincipal.set(caller.principal, (this.#perPrincipal.get(caller.principal) ?? 0) + 1);
    return session;
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
    this.#records.create(session.key, session.record(this.#worker)).then(
      () => {
        this.#options.metrics.sessionsOpened.inc();
        reply({ kind: 'opened', session: id, worker: this.#worker, text });
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
