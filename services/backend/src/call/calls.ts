/**
 * The calls of one server, from the command of a session to the final event.
 *
 * Invariants
 *  A1  Every call gets exactly one final event, unless it was cancelled; then none.
 *  A2  A call's place in the bulkhead is given back when the call is forgotten, and its connection when its attempt ends; each once.
 */
import { Link, Ring } from '@omnibus/collections';
import type { ServerConfig } from '@omnibus/config';
import { Bulkhead, type Deadline, type DeadlineWheel, type Place } from '@omnibus/lifecycle';
import {
  fault, modernCodes,
  type CallCommand, type ExchangeEvent, type ExchangeId, type ExchangeOutcome, type ExchangeMethod, type GatewayFault, type InputAnswer, type InputKey, type JsonObject, type ServerName, type SessionKey,
} from '@omnibus/protocol';
import type { CallMeter, CallResult, Logger, Span, Tracing } from '@omnibus/telemetry';
import { CallWords } from './call-words.ts';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import { driveTask, needsTaskExtension, withTaskExtension } from '../dialect/modern/task-drive.ts';
import { startRound } from '../dialect/modern/rounds.ts';
import { outcomeUrlProblem } from '../connection/elicitation-url.ts';
import type { ConnectionPool, Taken } from '../connection/pool.ts';
import type { LogLevels } from '../subscriptions/log-levels.ts';
import type { QuestionRelay } from './question-relay.ts';
import { rootsKey } from '../connection/questions.ts';
import type { SchemaChecks } from './schema-checks.ts';
import type { Tasks } from './tasks.ts';
import type { PendingReply } from '../connection/pending-reply.ts';
import type { ResourceSubscriptions } from '../subscriptions/resource-subscriptions.ts';

export interface CallsOptions {
  readonly server: ServerName;
  readonly config: Pick<ServerConfig, 'concurrency' | 'maxWaiting'>;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly meter: CallMeter;
  readonly tracing: Tracing | undefined;
  readonly catalog: CatalogPublisher;
  readonly questions: QuestionRelay;
  readonly tasks: Tasks;
  readonly watching: ResourceSubscriptions;
  readonly levels: Pick<LogLevels, 'raise' | 'least' | 'judged'>;
  readonly schemas: SchemaChecks;
  /** Which connection a call goes over. */
  readonly connections: () => Pick<ConnectionPool, 'settling' | 'turn' | 'mustKnowRoots' | 'take' | 'learn' | 'leadingTo'>;
  /** A log message of a call is passed to nobody, because there are too many. */
  readonly dropped: () => void;
  /** Tells the session whose task it is. */
  readonly announceTask: (connection: UpstreamConnection, task: JsonObject) => void;
}

/** Where a call is: what it takes to cancel it. */
interface Running {
  readonly connection: UpstreamConnection;
  readonly id: number;
  /** Gives the connection back. */
  readonly end: () => void;
}

/** One sending of a call's request. */
interface Attempt {
  readonly connection: UpstreamConnection;
  readonly params: JsonObject;
  /** How often the server has wanted something of the client before. */
  readonly round: number;
  /** Gives the connection back. */
  readonly end: () => void;
}

class Call extends Link {
  readonly command: CallCommand;
  readonly reply: (event: ExchangeEvent) => void;
  readonly arrivedAt = performance.now();
  readonly limit: Deadline;
  /** Undefined where nobody traces. */
  readonly span: Span | undefined;
  /** Undefined when it was refused one. */
  place: Place | undefined;
  /** Undefined until it was sent. */
  running: Running | undefined;
  /** What its client says of its roots, where that had to be asked. */
  roots: InputAnswer | undefined;
  /** Undefined while its server has said nothing. */
  words: CallWords | undefined;

  constructor(command: CallCommand, reply: (event: ExchangeEvent) => void, limit: Deadline, span: Span | undefined) {
    super();
    this.span = span;
    this.command = command;
    this.reply = reply;
    this.limit = limit;
  }
}

/** Requests that a client of 2026-07-28 can be asked something for (basic/patterns, Multi Round-Trip Requests). */
const roundMethods: ReadonlySet<ExchangeMethod> = new Set(['tools/call', 'prompts/get', 'resources/read']);
/** The session ends a call at its limit; the adapter waits this much longer, for sessions that are gone. */
const orphanGraceMs = 5_000;

export class Calls {
  readonly #options: CallsOptions;
  readonly #bulkhead: Bulkhead;
  readonly #calls = new Ring<Call>();
  #onIdle: (() => void) | undefined;

  constructor(options: CallsOptions) {
    this.#options = options;
    const { concurrency, maxWaiting } = options.config;
    this.#bulkhead = new Bulkhead({ concurrency, maxWaiting });
  }

  get running(): number {
    return this.#bulkhead.running;
  }

  get waiting(): number {
    return this.#bulkhead.waiting;
  }

  /** Those of the exchanges that are open here. */
  held(exchanges: readonly ExchangeId[]): ExchangeId[] {
    const held = new Set(this.#calls.toArray().map(({ command }) => command.exchange));
    return exchanges.filter((exchange) => held.has(exchange));
  }

  /** Resolves when no call is open, or the limit is over. */
  drained(limitMs: number): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const limit = this.#options.wheel.schedule(limitMs, resolve);
      this.#onIdle = () => {
        limit.cancel();
        resolve();
      };
    });
  }

  begin(command: CallCommand, reply: (event: ExchangeEvent) => void): void {
    const { server, wheel } = this.#options;
    const limit = wheel.schedule(command.context.maxTimeMs + orphanGraceMs, () => this.cancel(command.exchange, 'the time limit has passed', true));
    const { method, params, context } = command;
    const span = this.#options.tracing?.start('client', { method, params, attributes: { 'omnibus.server': server } }, context.trace);
    const call = new Call(command, reply, limit, span);
    this.#calls.add(call);
    let waits = false;
    const place = this.#bulkhead.enter(context.session, (given) => {
      if (waits) this.#options.meter.waited((performance.now() - call.arrivedAt) / 1_000);
      call.place = given;
      this.#run(call);
    });
    waits = true;
    if (place !== undefined) {
      call.place = place;
      return;
    }
    const { concurrency, maxWaiting } = this.#options.config;
    this.#refuse(call, fault('upstream.busy', `server "${server}" is busy: of ${concurrency} requests that may run and ${maxWaiting} that may wait, this session has its share`, { server }));
  }

  /** A client has answered what was asked for a call. While it was asked the call did not age at the session, and must not be forgotten here before that. */
  answered(exchange: ExchangeId, input: InputKey): void {
    const call = this.#find(exchange);
    call?.limit.extend(call.command.context.maxTimeMs + orphanGraceMs);
    call?.reply({ kind: 'input-answered', input });
  }

  #find(exchange: ExchangeId): Call | undefined {
    return this.#calls.toArray().find(({ command }) => command.exchange === exchange);
  }

  cancel(exchange: ExchangeId, reason: string, isTimeout: boolean): void {
    const call = this.#find(exchange);
    if (call === undefined) return;
    // The connection first: a question that is another call's has to move there before this call is forgotten.
    call.running?.connection.cancel(call.running.id, reason, isTimeout);
    if (call.running !== undefined && call.command.method === 'resources/subscribe') this.#options.watching.told(call.command, call.running.connection, undefined);
    call.running?.end(); // A2
    this.#forget(call, 'cancelled');
    call.span?.end('cancelled');
  }

  /** A fault of the gateway ends the call, and nothing else. */
  #run(call: Call): void {
    const settling = this.#options.connections().settling(call.command.context);
    if (settling === undefined) this.#takeTurn(call);
    else void settling.then(() => (this.#calls.has(call) ? this.#takeTurn(call) : undefined));
  }

  #takeTurn(call: Call): void {
    const { method, params, context } = call.command;
    const isAboutTask = context.taskPlace !== undefined || typeof params['taskId'] === 'string';
    if (!isAboutTask && call.roots === undefined && roundMethods.has(method) && this.#options.connections().mustKnowRoots(context)) {
      this.#askRoots(call);
      return;
    }
    const turn = isAboutTask ? undefined : this.#options.connections().turn(context, rootsOf(call));
    if (turn === undefined) this.#startGuarded(call);
    else void turn.then(() => (this.#calls.has(call) ? this.#startGuarded(call) : undefined));
  }

  /** Its client is one of several of the same user, of which one's roots were read: the same roots lead to the same connection. */
  #askRoots(call: Call): void {
    const { exchange, context: { session } } = call.command;
    this.#options.questions.ofRound({ exchange, session, reply: call.reply })('roots/list', {}, (answer) => {
      call.roots = answer;
      if (this.#calls.has(call)) this.#takeTurn(call);
    });
  }

  #startGuarded(call: Call): void {
    try {
      this.#start(call);
    } catch (error) {
      this.#options.log.error({ err: error, exchange: call.command.exchange }, 'a call could not be made');
      this.#refuse(call, fault('internal.error'));
    }
  }

  #start(call: Call): void {
    const { command } = call;
    const { server, tasks, connections, watching, levels } = this.#options;
    const refusal = this.#options.schemas.refusal(command);
    if (refusal !== undefined) {
      this.#finish(call, refusal);
      return;
    }
    const { params: { taskId }, context: { taskPlace } } = command;
    const made = taskPlace === undefined ? undefined : connections().leadingTo(taskPlace);
    if (made === undefined && taskPlace?.isProgram === true) {
      this.#refuse(call, fault('task.lost', undefined, { server }));
      return;
    }
    const fixed = made ?? (typeof taskId === 'string' ? tasks.connectionOf(taskId, command.context) : undefined);
    const taken: Taken = fixed === undefined ? connections().take(command.context, rootsOf(call)) : { connection: fixed, done: () => undefined };
    if ('refused' in taken) {
      this.#refuse(call, fault('upstream.connections', `server "${server}" can be given no connection for this caller: all that ${taken.refused} allows are in use`, { server }));
      return;
    }
    const { connection } = taken;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      taken.done();
    };
    if (tasks.isAnothers(connection, taskId, command.context)) {
      end();
      this.#refuse(call, fault('task.unknown'));
      return;
    }
    if (command.isNotification === true) {
      const isSaid = connection.say(command.method, command.params);
      end();
      this.#finish(call, isSaid ? { kind: 'result', result: {} } : { kind: 'fault', fault: fault('upstream.unavailable', `server "${server}" cannot be told anything but requests now`, { server }) });
      return;
    }
    const isSubscription = command.method === 'resources/subscribe' || command.method === 'resources/unsubscribe';
    const settled = isSubscription ? watching.settled(command, connection) : undefined;
    if (settled !== undefined) {
      end();
      void settled.then((outcome) => this.#joined(call, connection, outcome));
      return;
    }
    const attempt: Attempt = { connection, params: tracedParams(command.params, call.span), round: 0, end };
    const raised = levels.raise(connection, command.context);
    if (command.method === 'logging/setLevel') void levels.judged(connection, command).finally(end).then((outcome) => this.#finish(call, outcome));
    else if (raised !== undefined) void raised.then(() => (this.#calls.has(call) ? this.#send(call, attempt) : end()));
    else if (connection.isModern && isSubscription) {
      void watching.change(command, connection).then((outcome) => {
        end();
        if (command.method === 'resources/subscribe') watching.told(command, connection, this.#calls.has(call) ? outcome : undefined);
        this.#finish(call, outcome);
      });
    } else this.#send(call, attempt);
  }

  /** The server was told by another call what this one wants to tell it. */
  #joined(call: Call, connection: UpstreamConnection, outcome: ExchangeOutcome | undefined): void {
    const isOpen = this.#calls.has(call);
    if (!isOpen || (outcome !== undefined && outcome.kind !== 'result')) this.#options.watching.refused(call.command, connection);
    if (!isOpen) return;
    if (outcome === undefined) this.#startGuarded(call);
    else this.#finish(call, outcome);
  }

  #send(call: Call, attempt: Attempt): void {
    const { connection, params, end } = attempt;
    const { command } = call;
    const { context } = command;
    const { questions, tasks, watching, announceTask } = this.#options;
    const { taskId } = params;
    const asked = questions.ofCall({ exchange: command.exchange, session: context.session, reply: call.reply }, connection);
    const waiter: PendingReply = {
      session: context.client?.isOne === true ? (context.client.id as SessionKey) : context.session,
      task: typeof taskId === 'string' ? taskId : undefined,
      ...asked,
      ask: (question) => (question.method === 'roots/list' && call.roots !== undefined ? connection.respond(question.id, call.roots) : asked.ask(question)),
      progress: (progress) => this.#wordsOf(call).progress(progress),
      log: (entry) => this.#wordsOf(call).log(entry),
      notification: (method, entry) => this.#wordsOf(call).notification(method, entry),
      settle: (outcome, requestId) => {
        if (this.#goesOn(call, attempt, outcome)) return;
        end(); // A2
        this.#options.connections().learn(connection, outcome);
        questions.rememberElicitations(outcome, context.session);
        if (command.method === 'resources/subscribe') watching.told(command, connection, outcome);
        this.#finish(call, tasks.learn({ command, connection, requestId }, outcome, (task) => announceTask(connection, task)));
      },
    };
    const id = connection.request(command.method, params, waiter, context);
    call.running = { connection, id, end };
  }

  #wordsOf(call: Call): CallWords {
    const { command: { context }, reply } = call;
    call.words ??= new CallWords({ context, reply, dropped: this.#options.dropped, least: () => (call.running === undefined ? context.logLevel : this.#options.levels.least(call.running.connection, context)) });
    return call.words;
  }

  /** A server of 2026-07-28 that wants something answers, and is asked again with it. @returns false when the answer is final. */
  #goesOn(call: Call, attempt: Attempt, outcome: ExchangeOutcome): boolean {
    const { connection, params, round, end } = attempt;
    if (!connection.isModern || !this.#calls.has(call)) return false;
    const { command } = call;
    if (outcome.kind === 'error' && outcome.error.code === modernCodes.headerMismatch && round === 0 && command.method === 'tools/call') {
      // Nothing was executed: what we know of the tool is old.
      void this.#options.catalog.refresh('tools').then(() => {
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
    const ask = this.#options.questions.ofRound({ exchange: command.exchange, session: command.context.session, reply: call.reply });
    if (outcome.kind === 'error' && outcome.error.code === modernCodes.capabilityMissing && needsTaskExtension(outcome.error)) {
      this.#runAsTask(call, attempt, ask);
      return true;
    }
    if (outcome.kind !== 'result' || outcome.result['resultType'] !== 'input_required' || outcomeUrlProblem(outcome) !== undefined) return false;
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
    const options = { ...context, capabilities: withTaskExtension(context.capabilities) };
    const request = (asked: string, given: JsonObject): Promise<ExchangeOutcome> => connection.ask(asked, given, context.maxTimeMs, options);
    const isOver = (): boolean => !this.#calls.has(call);
    const finish = (outcome: ExchangeOutcome): void => {
      if (isOver()) return;
      end();
      this.#finish(call, outcome);
    };
    let steps = 0;
    const progress = (message: string | undefined): void => {
      steps += 1;
      if (message === undefined) this.#wordsOf(call).signOfLife();
      else this.#wordsOf(call).progress({ token: undefined, progress: steps, message });
    };
    void request(method, params).then((outcome) => {
      if (outcome.kind !== 'result' || outcome.result['resultType'] !== 'task') finish(outcome);
      else driveTask({ created: outcome.result, method, wheel: this.#options.wheel, request, ask, isOver, progress, finish });
    });
  }

  #refuse(call: Call, refusal: GatewayFault): void {
    this.#finish(call, { kind: 'fault', fault: refusal });
  }

  #finish(call: Call, given: ExchangeOutcome): void {
    const { server } = this.#options;
    const problem = outcomeUrlProblem(given);
    const outcome: ExchangeOutcome = problem === undefined ? this.#options.schemas.checked(call.command, given) : { kind: 'fault', fault: fault('upstream.invalid', `server "${server}" sent an invalid answer: ${problem}`, { server }) };
    if (!this.#forget(call, resultOf(outcome))) return;
    call.span?.end(outcome.kind === 'fault' ? outcome.fault.reason : outcome.kind === 'error' ? String(outcome.error.code) : undefined);
    call.reply(outcome); // A1
  }

  /** @returns false when it was over before. */
  #forget(call: Call, result: CallResult): boolean {
    if (!this.#calls.remove(call)) return false;
    this.#options.questions.forget(call.command.exchange);
    call.limit.cancel();
    this.#options.meter.finished(result, (performance.now() - call.arrivedAt) / 1_000, this.#toolOf(call.command));
    call.place?.leave(); // A2
    if (this.#calls.size === 0) this.#onIdle?.();
    return true;
  }

  /** Only what the server itself lists has a name in the metrics. */
  #toolOf({ method, params: { name } }: CallCommand): string | undefined {
    return method === 'tools/call' && typeof name === 'string' && this.#options.catalog.tool(name) !== undefined ? name : undefined;
  }
}

/** As `rootsKey` has them; nobody's for a client that does not say. */
function rootsOf({ roots }: Call): string | undefined {
  return roots === undefined ? undefined : 'result' in roots ? rootsKey(roots.result) : 'not said';
}

/** The server goes on with the trace (semantic conventions, MCP: context travels in `params._meta`). */
function tracedParams(params: JsonObject, span: Span | undefined): JsonObject {
  return span === undefined ? params : { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), traceparent: span.traceparent } };
}

function resultOf(outcome: ExchangeOutcome): CallResult {
  return outcome.kind === 'result' && outcome.result['isError'] === true ? 'tool_error' : outcome.kind;
}
