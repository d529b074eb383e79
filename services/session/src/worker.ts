/** The sessions of one process: opens them, owns their subjects, ends those nobody uses. */
import { catalogBucket, Heart, openStreamJournal, sessionsBucket, subjects, type Bus, type Journal, type KeyValue, type Subscription, type Watch } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorText, fault, idSequence, newSessionId, newWorkerId, sessionKey, toErrorObject,
  type AdoptCommand, type AdoptReply, type Caller, type CatalogRecord, type Declared, type ExchangeId, type GatewayFault, type JsonObject, type LateReply, type OpenCommand, type OpenReply, type PostedMessage, type Presence, type QuestionId, type ServerName, type SessionKey, type SessionMessage, type SessionRecord, type StreamEntry, type WorkerId,
} from '@omnibus/protocol';
import type { Logger, Metrics, Tracing } from '@omnibus/telemetry';
import { ExchangeWatch } from './call/exchange-watch.ts';
import type { TimeLimits } from './call/exchange.ts';
import { endpointDefinitions } from './views/endpoints.ts';
import { Interest } from './views/interest.ts';
import { Offers } from './views/offers.ts';
import { Views } from './views/views.ts';
import { HeldSessions, type HeldSession } from './ownership/held-sessions.ts';
import type { SessionHost } from './host.ts';
import { StatelessRequests } from './stateless/requests.ts';
import { Edges } from './streams/edges.ts';
import { FrameBudget } from './streams/kept-frames.ts';
import { Peers } from './ownership/peers.ts';
import { Sealer } from './public-ids/sealer.ts';
import { initializeProblem } from './dialect/legacy/handshake.ts';
import { SessionRecords } from './ownership/records.ts';
import type { Reply } from './streams/resumable-stream.ts';
import { Session } from './stateful/session.ts';

export interface SessionWorkerOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
  /** Of all workers of this gateway; left out, this is the only one, with a key of its own. */
  readonly sealer?: Sealer | undefined;
  /** Undefined in one process, where nobody else is on the bus. */
  readonly proofs?: Proofs | undefined;
}

/** Workers that were not heard of yet, right after the start, have this long to say that they hold a session. */
const unheardMs = 300;

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
  readonly #stateless: StatelessRequests;
  readonly #watch: ExchangeWatch;
  readonly #sessions = new HeldSessions<Session>();
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
  readonly #edges: Edges;
  readonly #interest: Interest;
  readonly #offers: Offers;
  readonly #frames: FrameBudget;

  static async create(options: SessionWorkerOptions): Promise<SessionWorker> {
    const { bus } = options;
    const streams = bus.isShared ? await openStreamJournal(bus, options.log) : undefined;
    return new SessionWorker(options, options.sealer ?? new Sealer(), await bus.keyValue(sessionsBucket), streams);
  }

  private constructor(options: SessionWorkerOptions, sealer: Sealer, records: KeyValue<SessionRecord>, streams: Journal<StreamEntry> | undefined) {
    const { config, bus, wheel, log, metrics, tracing } = options;
    const mustBeKnown = config.auth !== undefined && config.auth !== 'none';
    this.#options = options;
    this.#config = config;
    this.#views = new Views(endpointDefinitions(config), {
      wheel,
      announce: (endpoint, changesFor) => {
        for (const { session } of this.#sessions.values()) if (session.caller.endpoint === endpoint) session.listsChanged(changesFor(session.declared));
        this.#stateless.listsChanged(endpoint, changesFor);
      },
      tell: (endpoint, problems) => log.warn({ endpoint, problems: problems.slice(0, 10), count: problems.length }, 'what servers offer and clients cannot be shown'),
      isLost: (backend) => this.#watch.isLost(backend),
      remove: (key) => void this.#catalog?.delete(key).catch((error: unknown) => log.warn({ err: error, key }, 'what a backend worker wrote that is gone could not be removed')),
    });
    this.#offers = new Offers({ bus, wheel, recordsOf: (endpoint) => this.#views.get(endpoint)?.records ?? [] });
    const worker = newWorkerId('session');
    this.#worker = worker;
    this.#records = new SessionRecords({ records, worker, wheel, log, maxAgeMs: sessionsBucket.maxAgeMs, taken: (key) => this.#lose(key) });
    this.#heart = new Heart<Presence>({ bus, clock: wheel, subject: subjects.presence, sign: (isLeaving) => ({ worker, isLeaving, reconnects: bus.reconnects }), returned: () => void this.#verify() });
    this.#peers = new Peers({ bus, wheel, worker });
    this.#edges = new Edges({ bus, wheel, log, sessions: () => this.#sessions.sessions(), onDetach: (streams) => metrics.streamsDetached.inc(streams) });
    this.#frames = new FrameBudget({ wheel, maxBytes: config.limits.maxKeptBytes, maxBytesPerSession: config.limits.maxKeptBytesPerSession, onDrop: (bound) => metrics.keptDropped.inc({ bound }) });
    this.#watch = new ExchangeWatch({
      bus, wheel, log,
      changed: (servers) => this.#adaptersChanged(servers),
      workersChanged: () => this.#views.workersChanged(),
      reaching: (server, workers) => this.#views.reaching(server, workers),
      keepsState: (server, { capabilities }) => this.#keepsState(server, capabilities),
    });
    this.#host = {
      watch: this.#watch,
      bus, wheel, log, metrics, tracing, sealer, streams,
      callerProblem: (caller) => options.proofs?.problemOf(caller, mustBeKnown),
      frames: this.#frames,
      isEdgeThere: this.#edges.isThere, sessionWorkers: this.#peers.workers,
      drainMs: () => this.#config.timeouts.drain,
      limits: config.limits,
      nextExchangeId: idSequence<ExchangeId>(worker),
      nextQuestionId: idSequence<QuestionId>(worker),
      passOn: (key, asker, heldBefore, posted) => this.#passOn(key, asker, heldBefore, posted),
      hasRoomFor: (bytes) => this.#sessions.bytes + bytes <= config.limits.maxSessionBytes,
      view: ({ endpoint }: Caller, declared?: Declared) => this.#views.get(endpoint, declared),
      viewAlone: ({ endpoint }, capabilities) => this.#views.getAlone(endpoint, capabilities),
      offers: this.#offers,
      used: (endpoint) => this.#interest.use(endpoint),
      timeLimits: (server, tool) => this.#timeLimits(server, tool),
    };
    this.#interest = new Interest({
      bus, wheel,
      serversOf: (endpoint) => this.#views.get(endpoint)?.definition.servers ?? [],
      inUse: () => new Set([...[...this.#sessions.values()].map(({ session }) => session.caller.endpoint), ...this.#stateless.listenedTo]),
    });
    this.#stateless = new StatelessRequests(this.#host, worker, () => this.#config.timeouts.human);
    metrics.beforeScrape(() => {
      metrics.sessionsByState(this.counts());
      metrics.parkedCalls.set(this.#stateless.parked);
      metrics.keptFrameBytes.set(this.#frames.used);
      metrics.sessionBytes.set(this.#sessions.bytes);
    });
  }

  async start(): Promise<void> {
    const { bus } = this.#options;
    this.#catalog = await bus.keyValue(catalogBucket);
    this.#news = [
      await this.#catalog.watch((change) => {
        this.#views.catalogChanged(change);
        this.#offers.changed();
        this.#watch.catalogChanged();
      }),
      await bus.subscribe(subjects.notices, (notice) => {
        if (notice.kind === 'adapter-changed') {
          this.#adaptersChanged([notice.server]);
          return;
        }
        for (const { session } of this.#sessions.values()) session.hear(notice);
        this.#stateless.hear(notice);
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
    await bus.subscribe(subjects.sessionFindAt(this.#worker), ({ key }, reply) => reply({ isHeld: this.#held(key) !== undefined }));
    await Promise.all([this.#peers.start(), this.#edges.start()]);
    await this.#stateless.start();
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

  /** Servers, with the number of backend workers that a call of this worker's sessions may go to. */
  get adapters(): Readonly<Record<string, number>> {
    return this.#watch.adapters;
  }

  /** What adapters are to know of sessions is said again. */
  #adaptersChanged(servers: readonly ServerName[]): void {
    for (const server of servers) {
      for (const { session } of this.#sessions.values()) session.adaptersChanged(server);
      this.#stateless.adaptersChanged(server);
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
    this.#interest.stop();
    this.#records.stop();
    this.#edges.stop();
    const { bus } = this.#options;
    if (!bus.isShared) {
      await Promise.all([this.#stateless.stop(drain), ...[...this.#sessions.values()].map(({ session }) => session.drain(drain))]);
    } else {
      await Promise.all([this.#stateless.stop(drain), ...[...this.#sessions.values()].map((held) => this.#handOver(held, drain))]);
      await this.#commands?.drain();
      this.#heart.stop();
      this.#peers.stop();
    }
    for (const watch of this.#news) watch.close();
  }

  /** Another worker goes on with a session: its record is written, nobody is asked here any more, its streams move. */
  async #handOver(held: HeldSession<Session>, limitMs: number): Promise<void> {
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

  #receive({ key, command, edge }: SessionMessage, answer: Reply): void {
    // What it still works on is asked of the worker that works on it.
    const session = command.kind === 'probe' || command.kind === 'detach' ? this.#sessions.get(key)?.session : this.#held(key);
    const problem = 'caller' in command ? this.#host.callerProblem(command.caller) : undefined;
    if (problem !== undefined) answer({ kind: 'refused', fault: problem });
    else if (session === undefined) answer({ kind: 'moved' });
    else session.receive(command, answer, edge);
  }

  /** Only a worker that is known is asked: a client's string never becomes a subject. */
  async #passOn(key: SessionKey, asker: WorkerId, heldBefore: WorkerId | undefined, posted: PostedMessage): Promise<LateReply['outcome'] | 'silence'> {
    if (asker === this.#worker) return 'closed';
    if (asker !== heldBefore && !this.#peers.others.includes(asker)) return 'gone';
    const reply = await this.#peers.ask(asker, subjects.sessionLate(asker), { key, posted });
    return reply === 'silence' ? 'silence' : (reply?.outcome ?? 'gone');
  }

  async #adopt({ key, lost }: AdoptCommand): Promise<AdoptReply> {
    const here = { outcome: 'held', worker: this.#worker } as const;
    if (this.#held(key) !== undefined) return here;
    try {
      const recorded = await this.#records.read(key);
      if (recorded === undefined) return await this.#find(key, lost);
      const { worker: holder, caller } = recorded.value;
      if (holder !== lost && holder !== this.#worker) return { outcome: 'held', worker: holder };
      if (this.#isStopping || (this.#sessions.size >= this.#config.limits.maxSessions && !this.#shed())) return { outcome: 'busy' };
      if (!(await this.#records.adopt(key, recorded))) return { outcome: 'busy' }; // Another worker was faster; whoever is asked next knows which.
      const session = this.#hold(key, caller);
      session.restore(recorded.value);
      this.#sessions.weigh(session);
      this.#options.metrics.sessionsAdopted.inc();
      if (holder !== this.#worker) this.#options.bus.publish(subjects.sessionTaken(holder), { key });
      return here;
    } catch (error) {
      this.#options.log.error({ err: error, session: key }, 'a session could not be taken over');
      return { outcome: 'busy' };
    }
  }

  /**
   * A session of which there is no record is known to the worker that holds it only: each that may be there is asked, and that
   * one of them says nothing is no answer.
   * @param lost does not hold it any more.
   */
  async #find(key: SessionKey, lost: WorkerId | undefined): Promise<AdoptReply> {
    if (!this.#options.bus.isShared) return { outcome: 'unknown' };
    // Right after the start, not everybody was heard of: those that were not have a moment to speak up. A client waits for its 404.
    const unheard = this.#peers.isComplete ? undefined : await this.#findAnywhere(key);
    if (unheard !== undefined) return { outcome: 'held', worker: unheard };
    const others = this.#peers.others.filter((worker) => worker !== lost);
    const held = await this.#peers.askAll(others, subjects.sessionFindAt, { key }, ({ isHeld }) => isHeld);
    if (held === 'silence') return { outcome: 'busy' };
    return held === undefined ? { outcome: 'unknown' } : { outcome: 'held', worker: held };
  }

  /** @returns whoever says in time to hold it. */
  #findAnywhere(key: SessionKey): Promise<WorkerId | undefined> {
    const { bus, wheel } = this.#options;
    return new Promise((resolve) => {
      const finish = (holder: WorkerId | undefined): void => {
        limit.cancel();
        pending.close();
        resolve(holder);
      };
      const limit = wheel.schedule(unheardMs, () => finish(undefined));
      const pending = bus.request(subjects.sessionFind, { key }, { reply: ({ worker }) => finish(worker), failed: () => finish(undefined) });
    });
  }

  /** The session is another worker's, which took it over while we could not be reached. */
  #lose(key: SessionKey): void {
    const held = this.#sessions.get(key);
    if (held === undefined) return;
    this.#options.log.warn({ session: key }, 'a session was taken over by another worker');
    this.#options.metrics.sessionsLost.inc();
    this.#sessions.remove(held.session);
    held.session.abandon();
  }

  /** While we were cut off or did not run, other workers may have taken sessions over. */
  async #verify(): Promise<void> {
    const keys = this.#sessions.values().map(({ session }) => session.key);
    for (let start = 0; start < keys.length; start += verifiedAtOnce) {
      await Promise.all(keys.slice(start, start + verifiedAtOnce).map((key) => this.#records.verify(key)));
    }
  }

  #hold(key: SessionKey, caller: Caller): Session {
    this.#interest.use(caller.endpoint);
    const session: Session = new Session(key, caller, this.#host, {
      released: (ended) => {
        this.#records.remove(ended.key);
        this.#sessions.remove(ended);
      },
      changed: (changed) => {
        this.#sessions.weigh(changed);
        this.#records.save(changed.key, changed.record(this.#worker));
      },
    });
    this.#sessions.add(session);
    return session;
  }

  #open({ caller, request }: OpenCommand, reply: (answer: OpenReply) => void): void {
    const declared = request.params?.['capabilities'];
    const bytes = declared === undefined ? 0 : JSON.stringify(declared).length;
    const problem = this.#host.callerProblem(caller) ?? this.#openProblem(caller, bytes);
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
    const invalid = initializeProblem(request.params) ?? this.#tooLarge(bytes);
    if (invalid !== undefined) {
      this.#options.metrics.refused('params.invalid');
      reply({ kind: 'answered', text: errorText(request.id, toErrorObject(fault('params.invalid', invalid))) });
      return;
    }
    const id = newSessionId();
    const { proof: _proof, ...kept } = caller;
    const session = this.#hold(sessionKey(id), kept);
    let text: string;
    try {
      text = session.open(request, view);
    } catch (error) {
      this.#sessions.remove(session);
      throw error; // Which answers the command (B6).
    }
    this.#sessions.weigh(session);
    this.#records.create(session.key, session.record(this.#worker)).then(
      () => {
        this.#options.metrics.sessionsOpened.inc();
        reply({ kind: 'opened', session: id, worker: this.#worker, text });
      },
      (error: unknown) => {
        this.#sessions.remove(session);
        this.#options.log.error({ err: error }, 'a session could not be opened');
        reply({ kind: 'refused', fault: fault('gateway.unavailable') });
      },
    );
  }

  #tooLarge(bytes: number): string | undefined {
    const { maxSessionBytesPerSession } = this.#options.config.limits;
    return bytes > maxSessionBytesPerSession ? `params.capabilities has ${bytes} bytes; a session may declare ${maxSessionBytesPerSession} (limits.maxSessionBytesPerSession)` : undefined;
  }

  /** @param bytes that its client declares. */
  #openProblem({ principal }: Caller, bytes: number): GatewayFault | undefined {
    const { maxSessions, maxSessionsPerPrincipal, maxSessionBytes, maxSessionBytesPerSession } = this.#options.config.limits;
    if (this.#isStopping) return fault('gateway.draining');
    if (this.#sessions.of(principal) >= maxSessionsPerPrincipal) return fault('session.limit');
    if (bytes > maxSessionBytesPerSession) return undefined; // It is refused for that.
    while (this.#sessions.size >= maxSessions || this.#sessions.bytes + bytes > maxSessionBytes) if (!this.#shed()) return fault('session.limit');
    return undefined;
  }

  /** Ends the session that can be missed most. @returns false when all are in use. */
  #shed(): boolean {
    const spare = this.#sessions.spare(performance.now());
    if (spare === undefined) return false;
    this.#options.metrics.sessionsShed.inc({ kind: spare.kind });
    spare.session.expire();
    // Whatever became of it: what is not ended now is not looked at for ever.
    return this.#sessions.get(spare.session.key) === undefined;
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

  /** A program of its own behind each adapter, or a connection of the caller's own. */
  #keepsState(server: ServerName, { extensions: _extensions, ...askable }: JsonObject): boolean {
    const { command, isolation } = this.#config.mcpServers[server] ?? {};
    return command !== undefined || (isolation !== 'shared' && (isolation !== 'auto' || Object.keys(askable).length > 0));
  }

  #sweepLater(): void {
    const { idleSession, unusedSession } = this.#config.timeouts;
    this.#options.wheel.schedule(Math.min(idleSession, unusedSession) / sweepsPerIdleTime, () => {
      const now = performance.now();
      for (const { session } of this.#sessions.values()) {
        const limitMs = session.isUsed || session.state !== 'awaitingInitialized' ? idleSession : Math.min(idleSession, unusedSession);
        if (session.idleMs(now) >= limitMs) session.expire();
      }
      if (!this.#isStopping) this.#sweepLater();
    });
  }
}
