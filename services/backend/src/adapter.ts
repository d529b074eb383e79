/** Everything one configured server needs: its connections, its calls, and its entry in the catalogue. Calls come by its `Inlet`. */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import {
  mannerOf,
  extensionsFor,
  type ControlCommand,
  type ExchangeContext,
  type ExchangeId,
  type JsonObject,
  type Principal,
  type ServerIntroduction,
  type SessionKey,
  type Who,
} from '@omnibus/protocol';
import type { UpstreamLoad } from '@omnibus/telemetry';
import { Calls, type CallsOptions } from './call/calls.ts';
import { Features, type ServerFeature, type ServerIdentities, type ServerParts } from './feature.ts';
import { QuestionRelay } from './call/question-relay.ts';
import type { CallWatcher } from './call/steps.ts';
import { ServerWords } from './call/server-words.ts';
import { CatalogPublisher } from './catalog/publisher.ts';
import type { ConnectionBudget } from './connection/budget.ts';
import { settingMs, type UpstreamConnection } from './connection/connection.ts';
import { ConnectionFactory, isStdio, type ConnectionFactoryOptions } from './connection/factory.ts';
import { callerIdleMs, type NewConnection } from './connection/pool-options.ts';
import { ConnectionPool } from './connection/pool.ts';
import { Slumber } from './connection/slumber.ts';
import type { RecordFilter } from './catalog/record-of.ts';
import { sourceOf, type RecordShape } from './catalog/record-shape.ts';

export interface AdapterOptions extends ConnectionFactoryOptions, Pick<CallsOptions, 'isWaitedFor'> {
  readonly identities: ServerIdentities;
  readonly budget: ConnectionBudget;
  readonly bus: Bus;
  /** Makes the features of the server. */
  readonly features: (parts: ServerParts) => readonly ServerFeature[];
  /** Hears when the server is left alone, and when it is called again. */
  readonly slept: (isAsleep: boolean) => void;
  /** Undefined where everything is published that the server says. */
  readonly filter?: RecordFilter | undefined;
  /** Undefined where clients see every tool as the server gives it. */
  readonly shape?: RecordShape | undefined;
  /** The adapter of the same server before its configuration was changed: its lists are served until this one has read its own. */
  readonly before?: Adapter;
}

export class Adapter {
  readonly #options: AdapterOptions;
  readonly #connection: UpstreamConnection;
  readonly #pool: ConnectionPool;
  readonly calls: Calls;
  readonly #features: Features;
  readonly #questions: QuestionRelay;
  /** The server's record. */
  readonly catalog: CatalogPublisher;
  readonly #words: ServerWords;
  readonly #slumber: Slumber | undefined;
  /** Subscriptions for cancellations and the like. */
  #controls: Subscription[] = [];
  #settled: () => void = () => undefined;
  /** Resolves once the server is up with its lists published, or its first attempt has failed. */
  readonly firstAttempt: Promise<void>;
  readonly #gone = Promise.withResolvers<void>();

  constructor(options: AdapterOptions) {
    this.#options = options;
    const { server, config, wheel, log, metrics, bus } = options;
    this.#questions = new QuestionRelay({ bus, server, wheel });
    this.catalog = this.#createCatalog();
    this.#features = this.#createFeatures();
    this.#questions.join(this.#features.checks);
    this.#words = new ServerWords({
      bus,
      server,
      log,
      metrics,
      catalog: this.catalog,
      questions: this.#questions,
      hears: this.#features.hears,
      base: () => this.#connection,
    });
    this.firstAttempt = new Promise((resolve) => {
      this.#settled = resolve;
    });
    const factory = new ConnectionFactory(options, (tool, principal) => this.#inputSchema(tool, principal));
    this.#connection = this.#createBase(factory);
    this.#pool = this.#createPool(factory);
    this.#slumber = this.#createSlumber();
    this.calls = new Calls({
      server,
      config,
      wheel,
      log,
      isWaitedFor: options.isWaitedFor,
      meter: metrics.upstream.callMeter(server),
      catalog: this.catalog,
      questions: this.#questions,
      pool: this.#pool,
      dropped: () => metrics.dropped('log_storm'),
      steps: this.#features.steps,
      watchers: [this.#slumber ?? [], bus.isShared ? this.#binding() : [], this.#features.watchers].flat(),
    });
  }

  /** The server's own schema of a tool: its requests have the server's names of arguments. */
  #inputSchema(name: string, principal: Principal): JsonObject | undefined {
    const tool = this.catalog.tool(name, principal);
    return tool === undefined ? undefined : (sourceOf(tool).inputSchema as JsonObject);
  }

  /** @returns undefined for a server that never sleeps. */
  #createSlumber(): Slumber | undefined {
    const { wheel, config, slept } = this.#options;
    if (config.sleepAfter === 0) return undefined;
    return new Slumber({
      wheel,
      afterMs: config.sleepAfter,
      base: this.#connection,
      changed: slept,
      isBusy: () =>
        this.calls.running + this.calls.waiting + this.#pool.size > 0 || this.#features.isNeeded(this.#connection),
    });
  }

  /** From a session's first call on, its calls come here if the server keeps state for it. */
  #binding(): CallWatcher {
    const { worker } = this.#options;
    return {
      begun: ({ command: { isBound, context }, reply }) => {
        if (isBound !== true && mannerOf(context).lasts && this.#keepsState(context)) reply({ kind: 'bound', worker });
        return undefined;
      },
    };
  }

  #createCatalog(): CatalogPublisher {
    const { server, config, worker, wheel, limits, log, metrics, repairs, filter, shape, identities } = this.#options;
    return new CatalogPublisher({
      server,
      worker,
      wheel,
      limits,
      log,
      metrics,
      repairs,
      filter,
      shape,
      rereadMs: config.rereadLists,
      connection: () => this.#connection,
      connections: () => this.#pool,
      ...identities.catalog,
    });
  }

  #createFeatures(): Features {
    const { server, config, bus, wheel, log, metrics, features } = this.#options;
    return new Features(
      features({
        server,
        config,
        bus,
        wheel,
        log,
        metrics,
        catalog: this.catalog,
        questions: this.#questions,
        pool: () => this.#pool,
        connections: () => this.#connections,
        tell: (method, params, connection) => this.#tell(method, params, connection),
      }),
    );
  }

  /** Makes the first connection. */
  #createBase(factory: ConnectionFactory): UpstreamConnection {
    return factory.base(
      {
        greeted: (introduction, ask) => this.#features.greeted(this.#connection, introduction, ask),
        ready: (introduction) => this.#guard(this.#becomeReady(introduction)),
        lost: (problem, trouble, _isResting, isDoubted) =>
          this.#guard(
            (isDoubted ? this.catalog.doubted(problem) : this.catalog.lost(problem, trouble)).then(this.#settled),
          ),
        stammered: (problem) => this.#guard(this.catalog.stammered(problem)),
        notification: (method, params, audience) => this.#words.hear(this.#connection, method, params, audience),
        askedUnnamed: () => undefined,
        strayProgress: (progress) => this.#features.strayProgress(this.#connection, progress),
        missed: () => {
          this.catalog.missed();
          this.#features.missed(this.#connection);
        },
      },
      this.#options.before?.gone,
    );
  }

  #createPool(factory: ConnectionFactory): ConnectionPool {
    const { config, wheel, budget, identities } = this.#options;
    return new ConnectionPool({
      identities: identities.own,
      isolation: config.isolation,
      extensionsOf: (context, isForced) => this.#extensionsOf(context, isForced),
      isProgram: isStdio(config),
      base: this.#connection,
      wheel,
      idleMs: Math.min(callerIdleMs, config.sleepAfter || callerIdleMs),
      maxConnections: config.maxConnections,
      budget,
      isNeeded: (connection) => this.#features.isNeeded(connection),
      mayBeSplit: factory.mayBeSplit,
      namesRequests: () => factory.namesRequests,
      create: (made) => this.#connectAnother(factory, made),
    });
  }

  /** The extensions of a caller for a server of an older era. Servers with pages declare none; what they list, or list to such a caller, shows them. */
  #extensionsOf({ capabilities }: ExchangeContext, isForced: boolean): JsonObject | undefined {
    if (this.#options.config.isolation === 'shared') return undefined;
    const extensions = extensionsFor(capabilities, this.catalog.record.capabilities, false);
    if (Object.keys(extensions).length === 0) return undefined;
    return isForced || this.catalog.caresFor(capabilities) ? extensions : undefined;
  }

  /** Makes a connection for single callers. */
  #connectAnother(factory: ConnectionFactory, made: NewConnection): UpstreamConnection {
    const { session, leg, changed } = made;
    const owner = session === undefined ? undefined : this.#questions.ofSession(session, () => connection);
    const connection: UpstreamConnection = factory.another(made, owner, {
      greeted: (introduction, ask) => this.#features.greeted(connection, introduction, ask),
      ready: (introduction) => {
        this.#features.opened(connection);
        this.catalog.offers.opened(connection, introduction);
        changed(true);
      },
      lost: (problem, _trouble, isResting) => {
        this.#options.log.warn(
          { problem, session, leg: leg.name },
          `a connection besides the first was ${isResting ? 'taken out of use' : 'lost'}`,
        );
        if (!isResting) changed(false);
      },
      notification: (method, params, audience) => this.#words.hear(connection, method, params, audience),
      askedUnnamed: () => this.#pool.asksUnnamed(),
      strayProgress: (progress) => this.#features.strayProgress(connection, progress),
      missed: () => {
        this.catalog.announcedTo(connection);
        this.#features.missed(connection);
      },
    });
    this.catalog.offers.join(connection, made);
    return connection;
  }

  /** The stored credentials of a user have changed. */
  async credentialsChanged(principal: Principal): Promise<void> {
    const { identities } = this.#options;
    const { of, isInUse = false } = (await identities.changed(principal)) ?? {};
    if (of === 'all' && !(isInUse && this.#connection.isReady))
      this.#connection.reconnect('a user has signed in or out', true);
    // The user's connections have earlier credentials, or none. The server itself refuses a user without credentials.
    if (of === 'user') this.#pool.renewFor(principal, 'its user has signed in or out', isInUse);
    this.catalog.owners?.changed(principal);
    this.#features.userChanged(principal);
  }

  /** A directory has removed a user, and another person may get the name. @param called principals of the user whose connections must end. */
  userGone(isGone: (who: Who) => boolean, called: readonly Principal[]): void {
    for (const principal of called) this.#pool.endFor(principal);
    this.catalog.owners?.forget(isGone);
  }

  /** Resolves when its programs have ended. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  async start(): Promise<void> {
    const { bus, server, before } = this.#options;
    await this.catalog.open(bus, before?.catalog.record);
    await this.#features.start();
    // Starts before calls can come, since they wait for the connection (C4).
    this.#connection.start();
    this.#controls = [await bus.subscribe(subjects.backendControl(server), (command) => this.#control(command))];
  }

  /** Says which of the exchanges are open here, and sends the questions of these again. */
  held(exchanges: readonly ExchangeId[]): ExchangeId[] {
    this.#questions.askAgain(exchanges);
    return this.calls.held(exchanges);
  }

  /** Lets running calls end within the limit, and closes the connections. No new calls come any more. */
  async stop(drainMs: number): Promise<void> {
    await this.calls.drained(drainMs);
    for (const subscription of this.#controls) subscription.close();
    await Promise.all([this.#connection.stop(), this.#pool.stop()]);
    this.#gone.resolve();
  }

  get load(): UpstreamLoad {
    return {
      running: this.calls.running,
      waiting: this.calls.waiting,
      signIns: this.#features.waiting,
      connections: this.#pool.size,
    };
  }

  /** Whether the server keeps state for a caller: in a program behind this adapter, or in a connection of the caller's own. */
  #keepsState(context: ExchangeContext): boolean {
    return this.#options.config.command !== undefined || !this.#pool.isShared(context);
  }

  #control(command: ControlCommand): void {
    switch (command.kind) {
      case 'cancel':
        // A command with a worker's name cancels the exchange at that worker only; it may run here.
        if (command.worker === undefined || command.worker === this.#options.worker)
          this.calls.cancel(command.exchange, command.reason, command.isTimeout === true, command.owner);
        return;
      case 'answer':
        if (this.calls.isAnothers(command.asker, command.owner)) return;
        this.#questions.answer(command.asker, command.input, command.answer);
        this.calls.inputAnswered(command.asker as ExchangeId, command.input);
        return;
      case 'input-progress':
        if (!this.calls.isAnothers(command.asker, command.owner))
          this.#questions.passProgress(command.asker, command.input, command.params);
        return;
      case 'roots-changed':
        for (const connection of this.#pool.of(command.session)) connection.notify('notifications/roots/list_changed');
        return;
      case 'session-ended':
        this.forgetSession(command.session);
        return;
      case 'wanted':
        this.catalog.wanted();
        if (command.caller !== undefined && this.catalog.offers.want(command.caller)) this.#slumber?.used();
        return;
      default:
        this.#features.control(command);
    }
  }

  get #connections(): UpstreamConnection[] {
    return [this.#connection, ...this.#pool.all()];
  }

  /** Sessions with state here. */
  get sessions(): readonly SessionKey[] {
    return [
      ...this.#features.sessions,
      ...this.#pool.sessions,
      ...this.#connections.flatMap(({ listeners }) => [...listeners]),
    ];
  }

  forgetSession(session: SessionKey): void {
    this.#features.forgetSession(session);
    for (const connection of this.#connections) connection.forgetSession(session);
    this.#pool.endSession(session);
  }

  /** Sends a request and ignores its answer. @returns a promise of its end; undefined if nothing is sent. */
  #tell(method: string, params: JsonObject, connection = this.#connection): Promise<unknown> | undefined {
    if (!connection.isReady) return undefined;
    const told = connection.ask(method, params, settingMs).then((outcome) => {
      if (outcome.kind !== 'result') this.#options.log.debug({ method, outcome }, 'the server did not take a setting');
    });
    this.#guard(told);
    return told;
  }

  async #becomeReady(introduction: ServerIntroduction): Promise<void> {
    await this.catalog.introduce(introduction);
    const { revision, lists } = this.catalog.record;
    this.#options.log.info({ revision, tools: lists.tools.length }, 'server is up');
    this.#features.opened(this.#connection);
    this.#slumber?.begin();
    this.#settled();
  }

  /** Runs work in the background: a bug in it is reported, and the adapter continues. */
  #guard(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'what was to follow something the server did failed');
      this.#settled();
    });
  }
}
