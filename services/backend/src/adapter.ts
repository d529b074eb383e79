/**
 * Everything one configured server needs: its connection, its bulkhead, its entry in the catalogue, and the bus subjects
 * on which sessions reach it.
 *
 * Invariants
 *  A1  Every call gets exactly one final event, unless it was cancelled; then none.
 *  A2  A call's place in the bulkhead is given back exactly once.
 */
import { catalogBucket, subjects, type Bus, type Subscription } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import { Bulkhead, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  changeKinds, changeNotifications, fault, modernCodes,
  type CallCommand, type CatalogRecord, type ControlCommand, type ExchangeEvent, type ExchangeId,
  type ExchangeContext, type ExchangeOutcome, type HeldExchanges, type JsonObject, type Limits, type ServerName, type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import type { Dispatcher } from 'undici';
import type { ServerConfig } from '@omnibus/config';
import type { CallMeter, CallResult, Logger, Metrics, Span, Tracing } from '@omnibus/telemetry';
import { CatalogKeeper } from './catalog-keeper.ts';
import { UpstreamConnection, type Waiter } from './connection.ts';
import { Era } from './dialect/modern/discovery.ts';
import { driveTask, needsTaskExtension, withTaskExtension } from './dialect/modern/task-drive.ts';
import { startRound } from './dialect/modern/rounds.ts';
import type { Progress } from './dialect/legacy/messages.ts';
import type { ServerIntroduction } from './dialect/legacy/handshake.ts';
import { everyCapability, Instances } from './instances.ts';
import { LogLevels } from './log-levels.ts';
import { QuestionRelay } from './question-relay.ts';
import { Tasks } from './tasks.ts';
import { TransportFactory } from './transport/factory.ts';
import { Watching } from './watching.ts';

export interface AdapterOptions {
  readonly server: ServerName;
  readonly worker: WorkerId;
  readonly config: ServerConfig;
  /** The folder relative paths of the configuration start from. */
  readonly baseFolder: string;
  readonly limits: Limits;
  readonly dispatcher: Dispatcher;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

/** Where a call is: what it takes to cancel or answer it. */
interface Running {
  readonly connection: UpstreamConnection;
  readonly id: number;
  readonly leave: () => void;
}

/** One sending of a call's request. */
interface Attempt {
  readonly connection: UpstreamConnection;
  readonly params: JsonObject;
  /** How often the server has wanted something of the client before. */
  readonly round: number;
  /** Gives the place back. */
  readonly end: () => void;
}

class Call extends Link {
  readonly command: CallCommand;
  readonly reply: (event: ExchangeEvent) => void;
  readonly arrivedAt = performance.now();
  readonly limit: Deadline;
  /** Undefined where nobody traces. */
  readonly span: Span | undefined;
  /** Undefined while it waits for a place. */
  running: Running | undefined;

  constructor(command: CallCommand, reply: (event: ExchangeEvent) => void, limit: Deadline, span: Span | undefined) {
    super();
    this.span = span;
    this.command = command;
    this.reply = reply;
    this.limit = limit;
  }
}

/** The session ends a call at its limit; the adapter waits this much longer, for sessions that are gone. */
const orphanGraceMs = 5_000;
/** A connection of some callers' own is closed after this long without a call. */
const instanceIdleMs = 10 * 60_000;
/** Connections to one server besides the base. */
const maxInstances = 500;

export class Adapter {
  readonly #options: AdapterOptions;
  readonly #connection: UpstreamConnection;
  readonly #instances: Instances;
  readonly #bulkhead: Bulkhead;
  readonly #meter: CallMeter;
  readonly #calls = new Ring<Call>();
  readonly #watching: Watching;
  readonly #levels: LogLevels;
  readonly #tasks = new Tasks();
  readonly #questions: QuestionRelay;
  readonly #catalog: CatalogKeeper;
  /** Where calls come in, and what is said of calls that are there. */
  #inlets: Subscription[] = [];
  #controls: Subscription[] = [];
  #settled: () => void = () => undefined;
  /** Resolves once the server is up with its lists published, or its first attempt has failed. */
  readonly firstAttempt: Promise<void>;

  constructor(options: AdapterOptions) {
    this.#options = options;
    const { server, config, wheel, log, metrics } = options;
    this.#bulkhead = new Bulkhead({ concurrency: config.concurrency, maxWaiting: config.maxWaiting });
    this.#meter = metrics.callMeter(server);
    this.#watching = new Watching({ bus: options.bus, server, tell: (method, params, connection) => this.#tell(method, params, connection) });
    this.#questions = new QuestionRelay({ bus: options.bus, server, wheel });
    this.#catalog = new CatalogKeeper({ server, wheel, limits: options.limits, log, metrics, connection: () => this.#connection });
    this.#levels = new LogLevels({
      connections: () => [this.#connection, ...this.#instances.all()],
      hasLogging: () => 'logging' in this.record.capabilities,
      tell: (method, params, connection) => this.#tell(method, params, connection),
    });
    this.firstAttempt = new Promise((resolve) => {
      this.#settled = resolve;
    });
    const transports = new TransportFactory(options);
    const parts = {
      server, wheel, log, metrics,
      era: new Era(config.era),
      toolSchema: (tool: string) => this.#catalog.tool(tool)?.inputSchema as JsonObject | undefined,
      connectTimeoutMs: config.connectTimeout,
      backoff: { minMs: config.restart.minDelay, maxMs: config.restart.maxDelay },
    };
    this.#connection = new UpstreamConnection({
      ...parts,
      owner: undefined,
      isBase: true,
      capabilities: config.isolation === 'shared' ? everyCapability : {},
      createTransport: (observer) => transports.create(observer, true),
      isExclusive: config.command !== undefined,
      observer: {
        ready: (introduction) => void this.#becomeReady(introduction),
        lost: (problem) => this.#becomeLost(problem),
        notification: (method, params) => this.#hear(method, params),
        strayProgress: (progress) => this.#hearTaskProgress(this.#connection, progress),
        missed: () => {
          this.#catalog.readAgain();
          this.#watching.missed(this.#connection);
        },
      },
    });
    this.#instances = new Instances({
      isolation: config.isolation, isSingleStream: () => transports.isSingleStream, base: this.#connection, wheel, idleMs: instanceIdleMs, maxInstances,
      isNeeded: (connection) => this.#tasks.areRunningOn(connection) || this.#watching.isNeeded(connection),
      create: (capabilities, session) => {
        const connection: UpstreamConnection = new UpstreamConnection({
          ...parts,
          owner: session === undefined ? undefined : this.#questions.ofSession(session, () => connection),
          isBase: false,
          capabilities,
          createTransport: (observer) => transports.create(observer, false),
          isExclusive: config.url === undefined,
          observer: {
            ready: () => {
              this.#levels.send(connection);
              this.#watching.again(connection);
              void this.#catalog.readMore(connection);
            },
            lost: (problem) => log.warn({ problem, session }, 'a connection of one caller was lost'),
            notification: (method, params) => this.#hearInstance(connection, method, params, session),
            strayProgress: (progress) => this.#hearTaskProgress(connection, progress),
            missed: () => undefined,
          },
        });
        return connection;
      },
    });
  }

  get record(): CatalogRecord {
    return this.#catalog.record;
  }

  async start(): Promise<void> {
    const { bus, server, worker } = this.#options;
    this.#catalog.open(await bus.keyValue(catalogBucket));
    // Before calls can come: they wait for it (C4).
    this.#connection.start();
    const hear = (command: CallCommand, reply: (event: ExchangeEvent) => void): void => {
      // Whoever comes back finds here what the server keeps for it.
      if (bus.isShared && command.isBound !== true && !command.context.standsAlone && this.#keepsState(command.context)) reply({ kind: 'bound', worker });
      this.#call(command, reply);
    };
    this.#inlets = [await bus.subscribe(subjects.backend(server), hear, { queue: 'backend' }), await bus.subscribe(subjects.backendAt(server, worker), hear)];
    const sayWhatIsHeld = ({ exchanges }: HeldExchanges, reply: (held: HeldExchanges) => void): void => {
      const held = new Set(this.#calls.toArray().map(({ command }) => command.exchange));
      reply({ exchanges: exchanges.filter((exchange) => held.has(exchange)) });
      this.#questions.askAgain(exchanges);
    };
    this.#controls = [
      await bus.subscribe(subjects.backendControl(server), (command) => this.#control(command)),
      await bus.subscribe(subjects.backendHolds(server, worker), sayWhatIsHeld),
      await bus.subscribe(subjects.backendHolds(server, undefined), sayWhatIsHeld),
    ];
  }

  /**
   * Takes no new call, lets running ones finish within the limit, closes the connection.
   * @param isRemoved the server left the configuration, so it leaves the catalogue too.
   */
  async stop(drainMs: number, isRemoved: boolean): Promise<void> {
    await Promise.all(this.#inlets.map((subscription) => subscription.drain()));
    await this.#drained(drainMs);
    for (const subscription of this.#controls) subscription.close();
    await Promise.all([this.#connection.stop(), this.#instances.stop()]);
    if (isRemoved) {
      await this.#catalog.remove();
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
    const limit = wheel.schedule(command.context.maxTimeMs + orphanGraceMs, () => this.#cancel(command.exchange, 'the time limit has passed', true));
    const { method, params, context } = command;
    const span = this.#options.tracing?.start('client', { method, params, attributes: { 'omnibus.server': server } }, context.trace);
    const call = new Call(command, reply, limit, span);
    this.#calls.add(call);
    let waits = false;
    const isTaken = this.#bulkhead.run((leave) => {
      if (waits) this.#meter.waited((performance.now() - call.arrivedAt) / 1_000);
      this.#run(call, leave);
    });
    waits = isTaken;
    if (!isTaken) {
      const { concurrency, maxWaiting } = this.#options.config;
      this.#finish(call, busy(server, `${concurrency} requests run and ${maxWaiting} wait`));
    }
  }

  /** A program of its own behind each adapter, or a connection of the caller's own. */
  #keepsState(context: ExchangeContext): boolean {
    return this.#options.config.command !== undefined || !this.#instances.isShared(context);
  }

  #run(call: Call, leave: () => void): void {
    const { command } = call;
    if (!this.#calls.has(call)) {
      leave(); // A2: cancelled while it waited.
      return;
    }
    const fixed = this.#taskConnection(command);
    const place = fixed === undefined ? this.#instances.take(command.context) : { connection: fixed, done: () => undefined };
    if (place === undefined) {
      leave();
      this.#finish(call, busy(this.#options.server, `${maxInstances} connections for callers of their own are open`));
      return;
    }
    const end = (): void => {
      place.done();
      leave();
    };
    if (this.#watching.isSettled(command, place.connection)) {
      end();
      this.#finish(call, { kind: 'result', result: {} });
      return;
    }
    const attempt: Attempt = { connection: place.connection, params: tracedParams(command.params, call.span), round: 0, end };
    const raised = this.#levels.raise(place.connection, command.context);
    if (raised !== undefined) void raised.then(() => (this.#calls.has(call) ? this.#send(call, attempt) : end()));
    else if (place.connection.isModern && (command.method === 'resources/subscribe' || command.method === 'resources/unsubscribe')) {
      void this.#watching.change(command, place.connection).then((outcome) => {
        end();
        this.#finish(call, outcome);
      });
    } else this.#send(call, attempt);
  }

  #send(call: Call, attempt: Attempt): void {
    const { connection, params, end } = attempt;
    const { command } = call;
    const { context } = command;
    const { taskId } = params;
    const waiter: Waiter = {
      session: context.session,
      task: typeof taskId === 'string' ? taskId : undefined,
      ...this.#questions.ofCall({ exchange: command.exchange, session: context.session, reply: call.reply }, connection),
      progress: ({ token: _token, ...progress }) => call.reply({ kind: 'progress', ...progress }),
      log: (entry) => call.reply({ kind: 'log', params: entry }),
      settle: (outcome, requestId) => {
        if (this.#goesOn(call, attempt, outcome)) return;
        end(); // A2
        this.#questions.rememberElicitations(outcome, context.session);
        if (outcome.kind !== 'result' && command.method === 'resources/subscribe') this.#watching.refused(command, connection);
        this.#finish(call, this.#tasks.learn({ command, connection, requestId }, outcome, (task) => this.#announceTask(connection, task)));
      },
    };
    const id = connection.request(command.method, params, waiter, context);
    call.running = { connection, id, leave: end };
  }

  /** A server of 2026-07-28 that wants something answers, and is asked again with it. @returns false when the answer is final. */
  #goesOn(call: Call, attempt: Attempt, outcome: ExchangeOutcome): boolean {
    const { connection, params, round, end } = attempt;
    if (!connection.isModern || !this.#calls.has(call)) return false;
    const { command } = call;
    if (outcome.kind === 'error' && outcome.error.code === modernCodes.headerMismatch && round === 0 && command.method === 'tools/call') {
      // Nothing was executed: what we know of the tool is old.
      void this.#catalog.refresh('tools').then(() => {
        if (this.#calls.has(call)) this.#send(call, { ...attempt, round: round + 1 });
      });
      return true;
    }
    if (outcome.kind === 'error' && outcome.error.code === modernCodes.revisionUnsupported) {
      // It was of this revision when we met; what it is now is found out anew.
      connection.meetAgain('the server does not speak the revision any more that it spoke before');
      return false;
    }
    if (command.context.standsAlone) return false;
    const ask = this.#questions.ofRound({ exchange: command.exchange, session: command.context.session, reply: call.reply });
    if (outcome.kind === 'error' && outcome.error.code === modernCodes.capabilityMissing && needsTaskExtension(outcome.error)) {
      this.#runAsTask(call, attempt, ask);
      return true;
    }
    if (outcome.kind !== 'result' || outcome.result['resultType'] !== 'input_required') return false;
    startRound({
      params, round, ask,
      result: outcome.result,
      method: command.method,
      wheel: this.#options.wheel,
      again: (next) => {
        if (this.#calls.has(call)) this.#send(call, { ...attempt, params: next, round: round + 1 });
      },
      finish: (final) => {
        if (!this.#calls.has(call)) return;
        end();
        this.#finish(call, final);
      },
    });
    return true;
  }

  /** The client knows no tasks, but the tool is nothing else: it is called as one, and followed to its end. */
  #runAsTask(call: Call, { connection, params, end }: Attempt, ask: ReturnType<QuestionRelay['ofRound']>): void {
    const { method, context } = call.command;
    const options = { ...context, wantsProgress: false, capabilities: withTaskExtension(context.capabilities) };
    const request = (asked: string, given: JsonObject): Promise<ExchangeOutcome> => connection.ask(asked, given, context.maxTimeMs, options);
    const isOver = (): boolean => !this.#calls.has(call);
    const finish = (outcome: ExchangeOutcome): void => {
      if (isOver()) return;
      end();
      this.#finish(call, outcome);
    };
    let steps = 0;
    const progress = (message: string): void => {
      steps += 1;
      if (context.wantsProgress) call.reply({ kind: 'progress', progress: steps, message });
    };
    void request(method, params).then((outcome) => {
      if (outcome.kind !== 'result' || outcome.result['resultType'] !== 'task') finish(outcome);
      else driveTask({ created: outcome.result, method, wheel: this.#options.wheel, request, ask, isOver, progress, finish });
    });
  }

  // --- tasks ---------------------------------------------------------------------------------------------------------

  #taskConnection({ params: { taskId }, context }: CallCommand): UpstreamConnection | undefined {
    return typeof taskId === 'string' ? this.#tasks.connectionOf(taskId, context) : undefined;
  }

  #announceTask(connection: UpstreamConnection, task: JsonObject): void {
    const session = this.#tasks.status(connection, task);
    const { bus, server } = this.#options;
    if (session !== undefined) bus.publish(subjects.notices, { kind: 'task-status', server, task, sessions: [session] });
  }

  #hearTaskProgress(connection: UpstreamConnection, { token, ...progress }: Progress): boolean {
    const task = this.#tasks.byToken(connection, token);
    if (task === undefined) return false;
    const { bus, server } = this.#options;
    bus.publish(subjects.notices, { kind: 'task-progress', server, taskId: task.taskId, progress: { kind: 'progress', ...progress }, sessions: [task.session] });
    return true;
  }

  #find(exchange: ExchangeId): Call | undefined {
    return this.#calls.toArray().find(({ command }) => command.exchange === exchange);
  }

  #finish(call: Call, outcome: ExchangeOutcome): void {
    this.#forget(call, resultOf(outcome));
    call.span?.end(outcome.kind === 'fault' ? outcome.fault.reason : outcome.kind === 'error' ? String(outcome.error.code) : undefined);
    call.reply(outcome); // A1
  }

  #forget(call: Call, result: CallResult): void {
    if (!this.#calls.remove(call)) return;
    this.#questions.forget(call.command.exchange);
    call.limit.cancel();
    this.#meter.finished(result, (performance.now() - call.arrivedAt) / 1_000, this.#toolOf(call.command));
    if (this.#calls.size === 0) this.#onIdle?.();
  }

  /** Only what the server itself lists has a name in the metrics. */
  #toolOf({ method, params: { name } }: CallCommand): string | undefined {
    return method === 'tools/call' && typeof name === 'string' && this.#catalog.tool(name) !== undefined ? name : undefined;
  }

  #control(command: ControlCommand): void {
    switch (command.kind) {
      case 'cancel':
        // With a worker's name it was given up there, and may run here.
        if (command.worker === undefined || command.worker === this.#options.worker) this.#cancel(command.exchange, command.reason, command.isTimeout === true);
        return;
      case 'answer': {
        this.#questions.answer(command.asker, command.input, command.answer);
        // While its client was asked it did not age at the session, and must not be forgotten here before that.
        const call = this.#find(command.asker as ExchangeId);
        call?.limit.extend(call.command.context.maxTimeMs + orphanGraceMs);
        call?.reply({ kind: 'input-answered', input: command.input });
        return;
      }
      case 'input-progress':
        this.#questions.passProgress(command.asker, command.input, command.params);
        return;
      case 'roots-changed':
        for (const connection of this.#instances.of(command.session)) connection.notify('notifications/roots/list_changed');
        return;
      case 'log-level':
        this.#levels.set(command.session, command.level);
        return;
      case 'session-ended':
        this.#forgetSession(command.session);
    }
  }

  #cancel(exchange: ExchangeId, reason: string, isTimeout: boolean): void {
    const call = this.#find(exchange);
    if (call === undefined) return;
    // The connection first: a question that is another call's has to move there before this call is forgotten.
    call.running?.connection.cancel(call.running.id, reason, isTimeout);
    this.#forget(call, 'cancelled');
    call.span?.end('cancelled');
    call.running?.leave(); // A2
  }

  #forgetSession(session: SessionKey): void {
    this.#levels.remove(session);
    this.#watching.forgetSession(session);
    this.#instances.endSession(session);
  }

  /** A request whose answer changes nothing for us. */
  #tell(method: string, params: JsonObject, connection = this.#connection): void {
    if (!connection.isReady) return;
    void connection.ask(method, params).then((outcome) => {
      if (outcome.kind !== 'result') this.#options.log.debug({ method, outcome }, 'the server did not take a setting');
    });
  }

  // --- what the server says of its own accord ------------------------------------------------------------------------

  async #becomeReady(introduction: ServerIntroduction): Promise<void> {
    await this.#catalog.introduce(introduction);
    const { revision, lists } = this.record;
    this.#options.log.info({ revision, tools: lists.tools.length }, 'server is up');
    this.#levels.send(this.#connection);
    this.#watching.again(this.#connection);
    this.#settled();
  }

  #becomeLost(problem: string): void {
    void this.#catalog.lost(problem).then(this.#settled);
  }

  #hear(method: string, params: JsonObject | undefined): void {
    const { bus, server, metrics } = this.#options;
    const kind = changeKinds.find((each) => changeNotifications[each] === method);
    if (kind !== undefined) {
      this.#catalog.announced(kind);
    } else if (method === 'notifications/resources/updated' && typeof params?.['uri'] === 'string') {
      this.#watching.updated(this.#connection, params['uri']);
    } else if (method === 'notifications/message' && params !== undefined) {
      bus.publish(subjects.notices, { kind: 'log', server, params, sessions: undefined });
    } else if (method === 'notifications/tasks/status' && params !== undefined) {
      this.#announceTask(this.#connection, params);
    } else if (method === 'notifications/elicitation/complete') {
      this.#questions.announceCompletion(params);
    } else {
      metrics.dropped('notification_unknown');
    }
  }

  #hearInstance(connection: UpstreamConnection, method: string, params: JsonObject | undefined, session: SessionKey | undefined): void {
    const { bus, server } = this.#options;
    if (changeKinds.some((kind) => changeNotifications[kind] === method)) void this.#catalog.readMore(connection);
    else if (method === 'notifications/resources/updated' && typeof params?.['uri'] === 'string') this.#watching.updated(connection, params['uri']);
    else if (method === 'notifications/elicitation/complete') this.#questions.announceCompletion(params);
    else if (method === 'notifications/tasks/status' && params !== undefined) this.#announceTask(connection, params);
    else if (method === 'notifications/message' && params !== undefined && session !== undefined) bus.publish(subjects.notices, { kind: 'log', server, params, sessions: [session] });
  }
}

/** The server goes on with the trace (semantic conventions, MCP: context travels in `params._meta`). */
function tracedParams(params: JsonObject, span: Span | undefined): JsonObject {
  return span === undefined ? params : { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), traceparent: span.traceparent } };
}

function busy(server: ServerName, why: string): ExchangeOutcome {
  return { kind: 'fault', fault: fault('upstream.busy', `server "${server}" is busy: ${why}`, { server }) };
}

function resultOf(outcome: ExchangeOutcome): CallResult {
  return outcome.kind === 'result' && outcome.result['isError'] === true ? 'tool_error' : outcome.kind;
}
