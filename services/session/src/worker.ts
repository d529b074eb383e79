/** One session worker: its parts, its subscriptions on the bus, and the order in which they start and stop. */
import {
  catalogBucket,
  Heartbeat,
  openStreamJournal,
  sessionsBucket,
  subjects,
  type Bus,
  type Journal,
  type KeyValue,
  type Subscription,
  type Watch,
} from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { Proofs } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Guardrails, Policy } from '@omnibus/policy';
import {
  anonymous,
  declaredBy,
  idSequence,
  newWorkerId,
  whoOf,
  type AdoptCommand,
  type AdoptReply,
  type Caller,
  type CatalogRecord,
  type ChangeKind,
  type Declared,
  type ExchangeId,
  type Facts,
  type GatewayFault,
  type OpenCommand,
  type OpenReply,
  type Presence,
  type QuestionId,
  type ServerName,
  type SessionRecord,
  type StreamEntry,
  type WorkerId,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { ExchangeWatch } from './call/exchange-watch.ts';
import { ServerSettings } from './call/server-settings.ts';
import { gatewayAsCaller } from './call/client-of.ts';
import { Features, type SessionFeature } from './feature.ts';
import { Adoption } from './ownership/adoption.ts';
import { Desk } from './ownership/desk.ts';
import { Opening } from './ownership/opening.ts';
import { Peers } from './ownership/peers.ts';
import { SessionRecords } from './ownership/records.ts';
import { Sessions } from './ownership/sessions.ts';
import { Sealer } from './public-ids/sealer.ts';
import type { Session } from './stateful/session.ts';
import type { SessionHost } from './stateful/session-host.ts';
import { StatelessRequests } from './stateless/requests.ts';
import type { StatelessHost } from './stateless/stateless-host.ts';
import { Edges } from './streams/edges.ts';
import { FrameBudget } from './streams/kept-frames.ts';
import { Endpoints } from './views/endpoints.ts';
import { Interest } from './views/interest.ts';
import { Offers } from './views/offers.ts';
import { placeAt, type Place } from './views/place.ts';
import { Views } from './views/views.ts';

export interface SessionWorkerOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The sealer that all workers of this gateway share. Default: one with a key of its own, for a single worker. */
  readonly sealer?: Sealer | undefined;
  /** Verifies the edges' signatures of callers' identities; undefined in a gateway of one process, where no other is on the bus. */
  readonly proofs?: Proofs | undefined;
  /** Makes the features of the worker, in the order in which calls meet them. */
  readonly features: (of: {
    readonly worker: WorkerId;
    /** The number of session workers. */
    readonly workers: () => number;
  }) => Promise<readonly SessionFeature[]>;
}

/** Parts that are opened, asynchronously, before the worker is constructed. */
interface Opened {
  readonly worker: WorkerId;
  readonly stored: KeyValue<SessionRecord>;
  readonly streams: Journal<StreamEntry> | undefined;
  readonly made: Features;
}

export class SessionWorker {
  /** Information and operations for operators. */
  readonly desk: Desk;
  readonly #options: SessionWorkerOptions;
  readonly #worker: WorkerId;
  readonly #features: Features;
  readonly #records: SessionRecords;
  readonly #views: Views;
  readonly #sessions: Sessions;
  readonly #adoption: Adoption;
  readonly #opening: Opening;
  readonly #stateless: StatelessRequests;
  readonly #watch: ExchangeWatch;
  readonly #nextExchangeId: () => ExchangeId;
  readonly #settings: ServerSettings;
  readonly #heart: Heartbeat<Presence>;
  readonly #peers: Peers;
  readonly #edges: Edges;
  readonly #interest: Interest;
  readonly #offers: Offers;
  /** Subscriptions by which sessions are opened and taken over, and signals that concern all sessions. */
  #inlets: Subscription[] = [];
  /** Subscription to the commands for sessions that this worker holds. */
  #commands: Subscription | undefined;
  #news: Watch[] = [];
  #catalog: KeyValue<CatalogRecord> | undefined;
  #config: Config;

  static async create(options: SessionWorkerOptions): Promise<SessionWorker> {
    const { bus } = options;
    const streams = bus.isShared ? await openStreamJournal(bus, options.log) : undefined;
    const worker = newWorkerId('session');
    const features = await options.features({ worker, workers: () => made.#peers.others.length + 1 });
    const made: SessionWorker = new SessionWorker(
      { ...options, worker, stored: await bus.keyValue(sessionsBucket), streams, made: new Features(features) },
      options.sealer ?? new Sealer(),
    );
    return made;
  }

  private constructor(options: SessionWorkerOptions & Opened, sealer: Sealer) {
    const { bus, wheel, log, metrics } = options;
    const { worker, stored, streams, made: features } = options;
    this.#features = features;
    this.#worker = worker;
    this.#options = options;
    this.#config = options.config;
    this.#settings = new ServerSettings(options.config);
    this.#views = this.#makeViews();
    this.#offers = new Offers({ bus, wheel, recordsOf: (place) => this.#views.get(place)?.records ?? [] });
    this.#records = this.#makeRecords(stored);
    this.#heart = this.#makeHeart();
    this.#peers = new Peers({ bus, wheel, worker });
    this.#edges = new Edges({
      bus,
      wheel,
      log,
      sessions: () => this.#sessions.held.sessions(),
      onDetach: (detached) => metrics.streamsDetached.inc(detached),
    });
    this.#watch = this.#makeWatch();
    const nextExchangeId = idSequence<ExchangeId>(worker);
    this.#nextExchangeId = nextExchangeId;
    this.#interest = this.#makeInterest();
    this.desk = this.#makeDesk();
    const callerProblem = this.#callerProblem();
    const factsOf = (caller: Caller): Facts | undefined => Proofs.factsOf(caller, this.#options.proofs);
    const used = (caller: Caller): void => this.#interest.use(this.#placeOf(caller));
    const config = (): Config => this.#config;
    const frames = this.#makeFrames();
    const host = this.#makeHost({ sealer, streams, frames, callerProblem, factsOf, used });
    const owned = {
      bus,
      wheel,
      log,
      metrics,
      worker,
      config,
      records: this.#records,
      peers: this.#peers,
      callerProblem,
    };
    this.#sessions = new Sessions({ ...owned, host, used, guests: features.guests });
    this.#opening = new Opening({
      ...owned,
      sessions: this.#sessions,
      factsOf,
      turnedAway: (command, problem) => host.watchers.turnedAway(undefined, command, problem),
      view: (caller) => host.view(caller),
    });
    this.#adoption = new Adoption({ ...owned, sessions: this.#sessions, hasRoom: () => this.#opening.hasRoom() });
    this.#stateless = new StatelessRequests(host, worker, () => this.#config.timeouts.human);
    this.#measure(frames);
  }

  #makeHeart(): Heartbeat<Presence> {
    const { bus, wheel } = this.#options;
    return new Heartbeat<Presence>({
      bus,
      clock: wheel,
      subject: subjects.presence,
      sign: (isLeaving) => ({ worker: this.#worker, isLeaving, reconnects: bus.reconnects }),
      returned: () => void this.#sessions.verify(),
    });
  }

  #makeFrames(): FrameBudget {
    const {
      wheel,
      metrics,
      config: { limits },
    } = this.#options;
    return new FrameBudget({
      wheel,
      maxBytes: limits.maxKeptBytes,
      maxBytesPerSession: limits.maxKeptBytesPerSession,
      onDrop: (bound) => metrics.keptDropped.inc({ bound }),
    });
  }

  #makeWatch(): ExchangeWatch {
    const { bus, wheel, log } = this.#options;
    return new ExchangeWatch({
      bus,
      wheel,
      log,
      changed: (servers, hasGap) => this.#adaptersChanged(servers, hasGap),
      workersChanged: () => this.#views.workersChanged(),
      reaching: (server, workers) => this.#views.reaching(server, workers),
      keptFor: (server, context) => this.#settings.keptFor(server, context),
    });
  }

  #makeRecords(stored: KeyValue<SessionRecord>): SessionRecords {
    const { wheel, log } = this.#options;
    return new SessionRecords({
      records: stored,
      worker: this.#worker,
      wheel,
      log,
      maxAgeMs: sessionsBucket.maxAgeMs,
      taken: (key) => this.#sessions.lose(key),
    });
  }

  #makeInterest(): Interest {
    const { bus, wheel } = this.#options;
    return new Interest({
      bus,
      wheel,
      serversOf: (place) => this.#views.get(place)?.definition.servers ?? [],
      inUse: () =>
        new Set([
          ...this.#sessions.held.values().map(({ session }) => this.#placeOf(session.caller)),
          ...this.#stateless.listenedTo,
        ]),
    });
  }

  #makeDesk(): Desk {
    return new Desk({
      worker: this.#worker,
      config: () => this.#config,
      sessions: () => this.#sessions,
      clients: () => this.#stateless.clients,
      peers: this.#peers,
      edges: this.#edges,
      watch: this.#watch,
      views: this.#views,
      offered: (endpoint, capabilities) => {
        void this.#offers.settling({
          place: endpoint,
          declared: declaredBy(capabilities, false),
          caller: { ...gatewayAsCaller(), capabilities },
        });
        return this.#views.getAlone(endpoint, capabilities, anonymous);
      },
      waiting: () => this.#features.waiting,
    });
  }

  /** What sessions and requests without sessions use of this worker. */
  #makeHost(
    given: Pick<SessionHost & StatelessHost, 'sealer' | 'streams' | 'frames' | 'callerProblem' | 'factsOf' | 'used'>,
  ): SessionHost & StatelessHost {
    const {
      bus,
      wheel,
      log,
      metrics,
      config: { limits },
    } = this.#options;
    const features = this.#features;
    return {
      ...given,
      bus,
      wheel,
      log,
      metrics,
      limits,
      placeOf: this.#placeOf,
      gates: features.gates,
      transforms: features.transforms,
      watchers: features.watchers,
      barrier: features.barrier,
      ownTools: features.ownTools,
      resultGates: features.resultGates,
      sessionEnded: (key) => features.sessionEnded(key),
      adapters: this.#watch,
      offers: this.#offers,
      isEdgeThere: this.#edges.isThere,
      sessionWorkers: this.#peers.workers,
      drainMs: () => this.#config.timeouts.drain,
      nextExchangeId: this.#nextExchangeId,
      isSure: () => this.#heart.isSure,
      confirm: (key) => this.#sessions.confirm(key),
      nextQuestionId: idSequence<QuestionId>(this.#worker),
      passOn: (key, asker, heldBefore, posted) => this.#sessions.passOn(key, asker, heldBefore, posted),
      hasRoomFor: (bytes) => this.#sessions.held.bytes + bytes <= limits.maxSessionBytes,
      access: features.access,
      timeLimits: this.#settings.timeLimits,
      whoFor: (server, caller) => (this.#settings.isOwned(server) ? whoOf(given.factsOf(caller)) : {}),
      view: (caller, declared?: Declared) =>
        this.#views.get(this.#placeOf(caller), declared, this.#features.access.on?.of(caller)?.sight),
      viewAlone: (caller, capabilities) =>
        this.#views.getAlone(
          this.#placeOf(caller),
          capabilities,
          caller.principal,
          this.#features.access.on?.of(caller)?.sight,
        ),
    };
  }

  #measure(frames: FrameBudget): void {
    const { metrics } = this.#options;
    metrics.beforeScrape(() => {
      metrics.sessionsByState(this.desk.counts());
      metrics.parkedCalls.set(this.#stateless.parked);
      metrics.keptFrameBytes.set(frames.used);
      metrics.sessionBytes.set(this.#sessions.held.bytes);
      metrics.preparedListBytes.set(this.#views.preparedLength);
    });
  }

  #makeViews(): Views {
    const { config, wheel, log } = this.#options;
    return new Views(new Endpoints(config, this.#features.ownTools.finders), {
      wheel,
      guarded: (record) => this.#features.access.on?.guarded(record) ?? record,
      announce: (place, changesFor) => {
        for (const { session } of this.#sessions.held.values())
          if (this.#placeOf(session.caller) === place)
            session.listsChanged(
              changesFor(session.declared, this.#features.access.on?.of(session.sight.asking)?.sight),
            );
        this.#stateless.listsChanged(place, (declared, caller) =>
          changesFor(declared, this.#features.access.on?.of(caller)?.sight),
        );
      },
      sightsInUse: () =>
        new Set(this.#readers.flatMap(({ sight }) => this.#features.access.on?.of(sight.asking)?.sight?.name ?? [])),
      maxPreparedLength: () => this.#config.limits.maxPreparedListBytes,
      tell: (endpoint, problems) =>
        log.warn(
          { endpoint, problems: problems.slice(0, 10), count: problems.length },
          'what servers offer and clients cannot be shown',
        ),
      isLost: (backend) => this.#watch.isLost(backend),
      remove: (key) =>
        void this.#catalog
          ?.delete(key)
          .catch((error: unknown) =>
            log.warn({ err: error, key }, 'what a backend worker wrote that is gone could not be removed'),
          ),
    });
  }

  /** The place of a caller. The tenant of a session's caller was found when the session began. */
  readonly #placeOf = (caller: Caller): Place => {
    const { endpoint, tenant, facts, proof } = caller;
    const of =
      facts === undefined && proof === undefined ? tenant : Proofs.factsOf(caller, this.#options.proofs)?.tenant;
    return of === undefined ? endpoint : placeAt(endpoint, of);
  };

  #callerProblem(): (caller: Caller) => GatewayFault | undefined {
    const {
      config: { auth },
      proofs,
    } = this.#options;
    const mustBeKnown = auth !== undefined && auth !== 'none';
    return (caller) => proofs?.problemOf(caller, mustBeKnown);
  }

  async start(): Promise<void> {
    const { bus } = this.#options;
    const worker = this.#worker;
    this.#catalog = await bus.keyValue(catalogBucket);
    this.#news = [
      await this.#catalog.watch((change) => {
        this.#views.catalogChanged(change);
        this.#offers.changed();
        this.#watch.catalogChanged();
      }),
      await bus.subscribe(subjects.notices, (notice) => {
        if (notice.kind === 'adapter-changed') {
          this.#adaptersChanged([notice.server], true);
          return;
        }
        this.#features.hear(notice);
        for (const { session } of this.#sessions.held.values()) session.hear(notice);
        this.#stateless.hear(notice);
      }),
    ];
    this.#commands = await bus.subscribe(subjects.session(worker), (message, answer) =>
      this.#sessions.receive(message, answer),
    );
    await this.#answerWorkers();
    await Promise.all([this.#peers.start(), this.#edges.start()]);
    await this.#features.start({
      adapters: this.#watch,
      nextExchangeId: this.#nextExchangeId,
      changed: () => this.#features.choose(),
      barred: () => {
        const { barrier } = this.#features;
        for (const { session } of this.#sessions.held.values()) session.barred(barrier);
        this.#stateless.barred(barrier);
      },
    });
    await this.#stateless.start();
    if (bus.isShared) await this.#watch.start();
    // Signs of life start first, so that whoever learns that this worker holds a session already knows the worker.
    await this.#heart.start();
    this.#inlets = await this.#openInlets();
    this.#sessions.sweepLater();
  }

  /** Answers other workers and edges. These subscriptions stay until the end: a worker that leaves is still asked what it works on. */
  async #answerWorkers(): Promise<void> {
    const { bus } = this.#options;
    const worker = this.#worker;
    const { held } = this.#sessions;
    await bus.subscribe(subjects.sessionStreams(worker), ({ key, streams }, reply) =>
      reply({ key, streams: held.get(key)?.session.streams.unanswered(streams) ?? [] }),
    );
    await bus.subscribe(subjects.sessionLate(worker), ({ key, posted }, reply) =>
      reply({ outcome: held.get(key)?.session.hearLate(posted) ?? 'gone' }),
    );
    await bus.subscribe(subjects.sessionTaken(worker), ({ key }) => this.#records.verify(key));
    await bus.subscribe(subjects.sessionFind, ({ key }, reply) => {
      if (this.#sessions.find(key) !== undefined) reply({ worker });
    });
    await bus.subscribe(subjects.sessionFindAt(worker), ({ key }, reply) =>
      reply({ isHeld: this.#sessions.find(key) !== undefined }),
    );
  }

  /** Takes new sessions, and those of workers that are gone. */
  async #openInlets(): Promise<Subscription[]> {
    const { bus } = this.#options;
    const worker = this.#worker;
    const adopt = (command: AdoptCommand, reply: (answer: AdoptReply) => void): Promise<void> =>
      this.#adoption.adopt(command).then(reply);
    const open = (command: OpenCommand, reply: (answer: OpenReply) => void): void => this.#opening.open(command, reply);
    return [
      await bus.subscribe(subjects.sessionAdopt(undefined), adopt, { queue: 'session' }),
      await bus.subscribe(subjects.sessionOpen(undefined), open, { queue: 'session' }),
      await bus.subscribe(subjects.sessionAdopt(worker), adopt),
      await bus.subscribe(subjects.sessionOpen(worker), open),
    ];
  }

  /** Tells adapters again what they have to know of sessions, such as subscriptions and log levels. */
  #adaptersChanged(servers: readonly ServerName[], hasGap: boolean): void {
    this.#offers.adaptersChanged(servers);
    for (const server of servers) {
      for (const { session } of this.#sessions.held.values()) session.adaptersChanged(server, hasGap);
      this.#stateless.adaptersChanged(server, hasGap);
    }
  }

  /** Everybody who is told when the lists that they see change. */
  get #readers(): readonly {
    readonly sight: Pick<Session['sight'], 'asking' | 'view'>;
    readonly listsChanged: Session['listsChanged'];
  }[] {
    const listeners = this.#stateless.readers.map((listener) => ({
      sight: listener,
      listsChanged: (kinds: readonly ChangeKind[]) => listener.listsChanged(kinds),
    }));
    return [
      ...this.#sessions.held.values().map(({ session }) => ({
        sight: session.sight,
        listsChanged: (kinds: readonly ChangeKind[]) => session.listsChanged(kinds),
      })),
      ...listeners,
    ];
  }

  /**
   * Applies a changed configuration to existing and new sessions.
   * @param policy the compiled rules of the configuration; undefined where it has none.
   * @param guardrails the same of its guardrails.
   */
  apply(config: Config, policy?: Policy, guardrails?: Guardrails): void {
    // Only callers whose visible lists differ under the changed rules are told of a change.
    const seen = this.#features.changesAccess(config, policy)
      ? this.#readers.map((reader) => ({ ...reader, before: reader.sight.view }))
      : [];
    this.#config = config;
    this.#settings.apply(config);
    this.#features.apply(config, { policy, guardrails });
    this.#views.redefine(new Endpoints(config, this.#features.ownTools.finders));
    for (const { sight, listsChanged, before } of seen)
      if (before !== undefined) listsChanged(sight.view?.changesSince(before) ?? []);
  }

  async stop(): Promise<void> {
    this.#opening.close();
    await Promise.all(this.#inlets.map((inlet) => inlet.drain()));
    this.#watch.stop();
    this.#interest.stop();
    this.#records.stop();
    this.#edges.stop();
    await this.#offers.stop();
    await Promise.all([this.#stateless, this.#sessions].map((part) => part.stop(this.#config.timeouts.drain)));
    if (this.#options.bus.isShared) {
      await this.#commands?.drain();
      this.#heart.stop();
      this.#peers.stop();
    }
    await this.#features.stop();
    for (const watch of this.#news) watch.close();
  }
}
