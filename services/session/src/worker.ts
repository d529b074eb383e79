/** One session worker: its parts, its subscriptions on the bus, and the order in which they start and stop. */
import {
  catalogBucket,
  openStreamJournal,
  sessionsBucket,
  subjects,
  type Journal,
  type KeyValue,
  type Watch,
} from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import type { Guardrails, Policy } from '@omnibus/policy';
import {
  anonymous,
  declaredBy,
  idSequence,
  newWorkerId,
  whoOf,
  type Caller,
  type CatalogRecord,
  type ChangeKind,
  type ExchangeId,
  type QuestionId,
  type ServerName,
  type SessionRecord,
  type StreamEntry,
  type WorkerId,
} from '@omnibus/protocol';
import { ExchangeWatch } from './call/exchange-watch.ts';
import { ServerSettings } from './call/server-settings.ts';
import { gatewayAsCaller } from './call/client-of.ts';
import { Features, type SessionFeature, type WorkerParts } from './feature.ts';
import { Desk } from './ownership/desk.ts';
import { Ownership, type OwnedHost } from './ownership/ownership.ts';
import type { Sessions } from './ownership/sessions.ts';
import { Sealer } from './public-ids/sealer.ts';
import type { Session } from './stateful/session.ts';
import type { SessionHost } from './stateful/session-host.ts';
import { StatelessRequests } from './stateless/requests.ts';
import type { StatelessHost } from './stateless/stateless-host.ts';
import { Edges } from './streams/edges.ts';
import { FrameBudget } from './streams/kept-frames.ts';
import { Callers } from './views/callers.ts';
import { Endpoints } from './views/endpoints.ts';
import { Interest } from './views/interest.ts';
import { Offers } from './views/offers.ts';
import { Views } from './views/views.ts';

export interface SessionWorkerOptions extends WorkerParts {
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
  readonly #views: Views;
  readonly #callers: Callers;
  readonly #ownership: Ownership<SessionHost & StatelessHost>;
  readonly #stateless: StatelessRequests;
  readonly #watch: ExchangeWatch;
  readonly #nextExchangeId: () => ExchangeId;
  readonly #settings: ServerSettings;
  readonly #edges: Edges;
  readonly #interest: Interest;
  readonly #offers: Offers;
  /** Signals that concern all sessions. */
  #news: Watch[] = [];
  #catalog: KeyValue<CatalogRecord> | undefined;
  #config: Config;

  static async create(options: SessionWorkerOptions): Promise<SessionWorker> {
    const { bus } = options;
    const streams = bus.outlives ? await openStreamJournal(bus, options.log) : undefined;
    const worker = newWorkerId('session');
    const features = await options.features({ worker, workers: () => made.#ownership.peers.others.length + 1 });
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
    this.#callers = new Callers({
      views: this.#views,
      proofs: options.proofs,
      mustBeKnown: options.config.auth !== undefined && options.config.auth !== 'none',
      access: features.access,
      listFilter: features.listFilter,
    });
    this.#edges = new Edges({
      bus,
      wheel,
      log,
      sessions: () => this.#sessions.held.sessions(),
      onDetach: (detached) => metrics.streamsDetached.inc(detached),
    });
    this.#watch = this.#makeWatch();
    this.#nextExchangeId = idSequence<ExchangeId>(worker);
    this.#interest = this.#makeInterest();
    const used = (caller: Caller): void => this.#interest.use(this.#callers.placeOf(caller));
    const frames = this.#makeFrames();
    const { factsOf, problemOf: callerProblem, view, undecided } = this.#callers;
    this.#ownership = new Ownership({
      bus,
      wheel,
      log,
      metrics,
      worker,
      config: () => this.#config,
      used,
      stored,
      maxBytes: options.config.limits.maxSessionBytes,
      guests: features.guests,
      factsOf,
      callerProblem,
      view,
      undecided: (caller) => (features.listFilter.on === undefined ? undefined : undecided(caller)),
      makeHost: (owned) => this.#makeHost({ ...owned, sealer, streams, frames, used }),
    });
    this.#stateless = new StatelessRequests(this.#ownership.host, worker, () => this.#config.timeouts.human);
    this.desk = this.#makeDesk();
    this.#measure(frames);
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
      mustHear: (server, workers) => this.#views.mustHear(server, workers),
      keptFor: (server, context) => this.#settings.keptFor(server, context),
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
          ...this.#sessions.held.values().map(({ session }) => this.#callers.placeOf(session.caller)),
          ...this.#stateless.listeners.places,
        ]),
    });
  }

  #makeDesk(): Desk {
    return new Desk({
      worker: this.#worker,
      config: () => this.#config,
      sessions: () => this.#sessions,
      clients: () => this.#stateless.clients,
      peers: this.#ownership.peers,
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

  get #sessions(): Sessions {
    return this.#ownership.sessions;
  }

  /** What sessions and requests without sessions use of this worker. */
  #makeHost(
    given: OwnedHost & Pick<SessionHost & StatelessHost, 'sealer' | 'streams' | 'frames' | 'used'>,
  ): SessionHost & StatelessHost {
    const {
      bus,
      wheel,
      log,
      metrics,
      config: { limits },
    } = this.#options;
    const features = this.#features;
    const { placeOf, factsOf, problemOf, view, viewAlone, undecided } = this.#callers;
    return {
      ...given,
      bus,
      wheel,
      log,
      metrics,
      limits,
      placeOf,
      factsOf,
      callerProblem: problemOf,
      view,
      viewAlone,
      undecided,
      listFilter: features.listFilter,
      gates: features.gates,
      transforms: features.transforms,
      watchers: features.watchers,
      barrier: features.barrier,
      ownTools: features.ownTools,
      ownTasks: features.ownTasks,
      access: features.access,
      resultGate: features.resultGate,
      runGate: features.runGate,
      ownResults: features.ownResults,
      sessionEnded: (key) => features.sessionEnded(key),
      adapters: this.#watch,
      owner: bus.isShared ? this.#worker : undefined,
      offers: this.#offers,
      isEdgeThere: this.#edges.isThere,
      readingAt: this.#edges.readingAt,
      drainMs: () => this.#config.timeouts.drain,
      nextExchangeId: this.#nextExchangeId,
      nextQuestionId: idSequence<QuestionId>(this.#worker),
      timeLimits: this.#settings.timeLimits,
      whoFor: (server, caller) => (this.#settings.needsCallers(server) ? whoOf(factsOf(caller)) : {}),
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
    return new Views(new Endpoints(config), {
      wheel,
      guarded: (record) => this.#features.access.on?.guarded(record) ?? record,
      announce: (place, changesFor) => {
        for (const { session } of this.#sessions.held.values())
          if (this.#callers.placeOf(session.caller) === place)
            session.listsChanged(changesFor(session.declared, this.#callers.sightOf(session.sight.asking)));
        this.#stateless.listeners.listsChanged(place, (declared, caller) =>
          changesFor(declared, this.#callers.sightOf(caller)),
        );
      },
      sightsInUse: () => new Set(this.#readers.flatMap(({ sight }) => this.#callers.sightOf(sight.asking)?.name ?? [])),
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

  async start(): Promise<void> {
    const { bus } = this.#options;
    this.#catalog = await bus.keyValue(catalogBucket);
    this.#news = [
      await this.#catalog.watch((change) => {
        this.#views.catalogChanged(change);
        if (change.kind === 'put') this.#features.listsRead(change.value);
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
        this.#stateless.listeners.hear(notice);
      }),
    ];
    await this.#ownership.start();
    await this.#edges.start();
    await this.#features.start({
      adapters: this.#watch,
      nextExchangeId: this.#nextExchangeId,
      changed: () => this.#features.choose(),
      barred: () => {
        const { barrier } = this.#features;
        for (const { session } of this.#sessions.held.values()) session.barred(barrier);
        this.#stateless.barred(barrier);
        this.#features.ownTasks?.barred(barrier);
      },
      rightsChange: (act) => this.#changeRights(act),
    });
    if (bus.isShared) await this.#watch.start();
    await this.#stateless.start();
    await this.#ownership.open(() => this.#watch.heardOf(this.#views.backends));
  }

  /** Sends the state of sessions, such as subscriptions and log levels, to adapters again. */
  #adaptersChanged(servers: readonly ServerName[], hasGap: boolean): void {
    this.#offers.adaptersChanged(servers);
    for (const server of servers) {
      for (const { session } of this.#sessions.held.values()) session.adaptersChanged(server, hasGap);
      this.#stateless.listeners.adaptersChanged(server, hasGap);
    }
  }

  /** All clients that get notifications of changed lists. */
  get #readers(): readonly {
    readonly sight: Pick<Session['sight'], 'asking' | 'view'>;
    readonly listsChanged: Session['listsChanged'];
  }[] {
    const listeners = this.#stateless.listeners.all.map((listener) => ({
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
    const change = (): void => {
      this.#config = config;
      this.#settings.apply(config);
      this.#features.apply(config, { policy, guardrails });
      this.#views.redefine(new Endpoints(config));
    };
    if (this.#features.changesAccess(config, policy)) this.#changeRights(change);
    else change();
  }

  /** Runs an act that changes what callers may see. Only callers with changed visible lists get a notification. */
  #changeRights(act: () => void): void {
    const seen = this.#readers.map((reader) => ({ ...reader, before: reader.sight.view }));
    act();
    for (const { sight, listsChanged, before } of seen)
      if (before !== undefined) listsChanged(sight.view?.changesSince(before) ?? []);
  }

  async stop(): Promise<void> {
    await this.#ownership.close();
    this.#watch.stop();
    this.#interest.stop();
    this.#edges.stop();
    await this.#offers.stop();
    const { drain } = this.#config.timeouts;
    await Promise.all([this.#stateless.stop(drain), this.#ownership.stop(drain)]);
    await this.#ownership.leave();
    await this.#features.stop();
    for (const watch of this.#news) watch.close();
  }
}
