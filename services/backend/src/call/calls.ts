/**
 * The calls of one server, from the command of a session to the final event.
 *
 * Invariants
 *  A1  Every call gets exactly one final event, unless it was cancelled; then none.
 *  A2  A call's place in the bulkhead is given back when the call is forgotten, and its connection when its attempt ends; each once.
 */
import { Ring } from '@omnibus/collections';
import type { ServerConfig } from '@omnibus/config';
import { Bulkhead, Drain, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault,
  outcomeUrlProblem,
  roundMethods,
  type CallCommand,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeOutcome,
  type GatewayFault,
  type InputKey,
  type JsonObject,
  type RepairCounts,
  type ServerName,
} from '@omnibus/protocol';
import type { CallMeter, CallResult, Logger, Tap, Tracing } from '@omnibus/telemetry';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { ConnectionPool, Taken } from '../connection/pool.ts';
import type { LogLevels } from '../subscriptions/log-levels.ts';
import type { ResourceSubscriptions } from '../subscriptions/resource-subscriptions.ts';
import { Attempt, wordsOf, type AttemptPort } from './attempt.ts';
import { CallTelling } from './call-telling.ts';
import { Call, listedToolOf, resultOf, tracedParams } from './call.ts';
import { CallSignIns } from './call-sign-ins.ts';
import type { CallSignIn } from './sign-in.ts';
import { repaired } from './result-nulls.ts';
import type { QuestionRelay } from './question-relay.ts';
import type { SchemaChecks } from './schema-checks.ts';
import type { Tasks } from './tasks.ts';

export interface CallsOptions {
  readonly server: ServerName;
  readonly config: Pick<ServerConfig, 'concurrency' | 'maxWaiting'>;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly meter: CallMeter;
  /** Whether the session worker that made a call is still there; undefined where it cannot be gone alone. */
  readonly isWaitedFor: ((command: CallCommand) => Promise<boolean>) | undefined;
  readonly tracing: Tracing | undefined;
  /** Reports calls to watchers; undefined where nobody can watch. */
  readonly tap: Tap | undefined;
  readonly catalog: CatalogPublisher;
  readonly questions: QuestionRelay;
  readonly tasks: Tasks;
  readonly subscriptions: ResourceSubscriptions;
  readonly levels: Pick<LogLevels, 'raise' | 'least' | 'judged'>;
  readonly schemas: SchemaChecks;
  /** Counts what is repaired of results; undefined where nothing is. */
  readonly repairs: RepairCounts | undefined;
  /** Chooses the connection of a call. */
  readonly connections: () => Pick<
    ConnectionPool,
    'settling' | 'turn' | 'mustKnowRoots' | 'take' | 'learn' | 'leadingTo' | 'isFor'
  >;
  /** Called for a log message that is dropped because there are too many. */
  readonly dropped: () => void;
  /** Tells a session of its task. */
  readonly announceTask: (connection: UpstreamConnection, task: JsonObject) => void;
  readonly signIn: CallSignIn;
}

/** The session ends a call at its time limit; the adapter waits this much longer, in case the session is gone. */
const orphanGraceMs = 5_000;

export class Calls {
  readonly #options: CallsOptions;
  readonly #bulkhead: Bulkhead;
  readonly #calls = new Ring<Call>();
  readonly #drain: Drain;
  readonly #telling: CallTelling;
  readonly #port: AttemptPort;
  /** The calls whose users have to sign in first. */
  readonly signIns: CallSignIns;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#bulkhead = new Bulkhead(options.config);
    const { wheel, catalog, questions, levels, dropped } = options;
    this.#drain = new Drain(wheel);
    this.#telling = new CallTelling(options.tap, options.server, () => this.#calls.toArray());
    this.#port = {
      wheel,
      catalog,
      questions,
      levels,
      dropped,
      telling: this.#telling,
      isOpen: (call) => this.#calls.has(call),
      answered: (attempt, outcome, requestId) => this.#answered(attempt, outcome, requestId),
      finish: (call, outcome) => this.#finish(call, outcome),
    };
    this.signIns = new CallSignIns({
      signIn: options.signIn,
      wheel,
      questions,
      isOpen: (call) => this.#calls.has(call),
      failed: (call, error) => this.#failed(call, error),
      again: (call) => this.#resume(call, () => (call.place === undefined ? this.#enter(call) : this.#run(call))),
      end: (call, outcome) => this.#end(call, outcome),
      report: (call, message, step) =>
        wordsOf(call, this.#port).progress({ token: undefined, progress: step, message }),
    });
  }

  get running(): number {
    return this.#bulkhead.running;
  }

  get waiting(): number {
    return this.#bulkhead.waiting;
  }

  /** Says which of the exchanges are open here. */
  held(exchanges: readonly ExchangeId[]): ExchangeId[] {
    const held = new Set(this.#calls.toArray().map(({ command }) => command.exchange));
    return exchanges.filter((exchange) => held.has(exchange));
  }

  /** Resolves when no call is open, or when the limit has passed. */
  drained(limitMs: number): Promise<void> {
    this.signIns.stop();
    return this.#drain.until(() => this.#calls.size === 0, limitMs).then(this.#telling.stop);
  }

  begin(command: CallCommand, reply: (event: ExchangeEvent) => void): void {
    const { server, wheel } = this.#options;
    const limit = wheel.schedule(command.context.maxTimeMs + orphanGraceMs, () =>
      this.cancel(command.exchange, 'the time limit has passed', true),
    );
    const { method, params, context } = command;
    const span = this.#options.tracing?.start(
      'client',
      { method, params, attributes: { 'omnibus.server': server } },
      context.trace,
    );
    const call = new Call(command, reply, limit, span);
    this.#calls.add(call);
    if (call.tag !== undefined)
      this.#telling.tell(call, 'queued', { server, running: this.running, waiting: this.waiting });
    this.#enter(call);
  }

  #enter(call: Call): void {
    const since = performance.now();
    let waits = false;
    const place = this.#bulkhead.enter(call.session, (given) => {
      call.place = given;
      if (!waits) {
        this.#run(call);
        return;
      }
      this.#options.meter.waited((performance.now() - since) / 1_000);
      this.#resume(call, () => this.#run(call));
    });
    waits = true;
    call.place = place;
    const {
      server,
      config: { concurrency, maxWaiting },
    } = this.#options;
    if (place === undefined)
      this.#refuse(
        call,
        fault(
          'upstream.busy',
          `server "${server}" is busy: of ${concurrency} requests that may run and ${maxWaiting} that may wait, this session has its share`,
          { server },
        ),
      );
  }

  /** A client has answered a question of a call. The time limit stood still at the session meanwhile, and so it must here. */
  answered(exchange: ExchangeId, input: InputKey): void {
    const call = this.#find(exchange);
    call?.limit.extend(call.command.context.maxTimeMs + orphanGraceMs);
    call?.reply({ kind: 'input-answered', input });
  }

  #find(exchange: ExchangeId): Call | undefined {
    return this.#calls.find(({ command }) => command.exchange === exchange);
  }

  cancel(exchange: ExchangeId, reason: string, isTimeout: boolean): void {
    const call = this.#find(exchange);
    if (call === undefined) return;
    // The connection comes first: a question that another call takes over has to move there before this call is forgotten.
    call.running?.cancel(reason, isTimeout);
    if (call.running !== undefined && call.command.method === 'resources/subscribe')
      this.#options.subscriptions.told(call.command, call.running.connection, undefined);
    call.running?.end(); // A2
    this.#forget(call, 'cancelled');
    this.#telling.ended(call, 'cancelled');
    call.span?.end('cancelled');
  }

  /** Runs a call; a bug in the gateway ends the call and nothing else. */
  #run(call: Call): void {
    if (!this.#calls.has(call)) return;
    const settling = this.#options.connections().settling(call.command.context);
    if (settling === undefined) this.#takeTurn(call);
    else this.#after(call, settling, () => this.#resume(call, () => this.#takeTurn(call)));
  }

  /** Goes on with a call that has waited. If its session worker is gone, its client is told that the outcome is unknown: then it is not made any more. */
  #resume(call: Call, go: () => void): void {
    const asked = this.#options.isWaitedFor?.(call.command);
    if (asked === undefined) {
      go();
      return;
    }
    const { server } = this.#options;
    this.#after(call, asked, (isWaitedFor) => {
      if (isWaitedFor) go();
      else
        this.#refuse(
          call,
          fault('gateway.interrupted', 'the part of the gateway that made the call is gone', { server }),
        );
    });
  }

  /** Goes on with a call after a wait, unless it has ended meanwhile. */
  #after<Got>(call: Call, wait: Promise<Got>, goOn: (got: Got) => void): void {
    wait
      .then((got) => (this.#calls.has(call) ? goOn(got) : undefined))
      .catch((error: unknown) => this.#failed(call, error));
  }

  /** A bug in the gateway ends the call that met it, and nothing else. */
  #failed(call: Call, error: unknown): void {
    this.#options.log.error({ err: error, exchange: call.command.exchange }, 'a call could not be made');
    this.#refuse(call, fault('internal.error'));
  }

  #takeTurn(call: Call): void {
    const { method, params, context } = call.command;
    const isAboutTask = context.taskPlace !== undefined || typeof params['taskId'] === 'string';
    if (
      !isAboutTask &&
      call.roots === undefined &&
      roundMethods.has(method) &&
      this.#options.connections().mustKnowRoots(context)
    ) {
      this.#askRoots(call);
      return;
    }
    const turn = isAboutTask ? undefined : this.#options.connections().turn(context, call.rootsKey);
    if (turn === undefined) this.#startGuarded(call);
    else this.#after(call, turn, () => this.#resume(call, () => this.#start(call)));
  }

  /** The client is one of several of the same user, and the server has read roots: a request goes to a connection with the same roots. */
  #askRoots(call: Call): void {
    this.#options.questions.askForRound(call, 'roots/list', {}, (answer) => {
      call.roots = answer;
      if (this.#calls.has(call)) this.#takeTurn(call);
    });
  }

  #startGuarded(call: Call): void {
    try {
      this.#start(call);
    } catch (error) {
      this.#failed(call, error);
    }
  }

  #start(call: Call): void {
    const { command } = call;
    const { server, tasks, connections, subscriptions, levels } = this.#options;
    const refusal = this.#options.signIn.refusal(command) ?? this.#options.schemas.refusal(command);
    if (refusal !== undefined) {
      this.#finish(call, refusal);
      return;
    }
    const {
      params: { taskId },
      context: { taskPlace },
    } = command;
    const made = taskPlace === undefined ? undefined : connections().leadingTo(taskPlace);
    if (made === undefined && taskPlace?.isProgram === true) {
      this.#refuse(call, fault('task.lost', undefined, { server }));
      return;
    }
    const fixed = made ?? (typeof taskId === 'string' ? tasks.connectionOf(taskId, command.context) : undefined);
    const taken: Taken =
      fixed === undefined
        ? connections().take(command.context, call.rootsKey)
        : { connection: fixed, done: () => undefined };
    if ('refused' in taken) {
      this.#refuse(
        call,
        taken.fault ??
          fault(
            'upstream.connections',
            `server "${server}" can be given no connection for this caller: all that ${taken.refused} allows are in use`,
            { server },
          ),
      );
      return;
    }
    const { connection } = taken;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      taken.done();
    };
    if (
      tasks.isAnothers(connection, taskId, command.context) ||
      (fixed !== undefined && !connections().isFor(fixed, command.context.principal))
    ) {
      end();
      this.#refuse(call, fault('task.unknown'));
      return;
    }
    if (command.isNotification === true) {
      const isSaid = connection.say(command.method, command.params);
      end();
      this.#finish(
        call,
        isSaid
          ? { kind: 'result', result: {} }
          : {
              kind: 'fault',
              fault: fault('upstream.unavailable', `server "${server}" cannot be told anything but requests now`, {
                server,
              }),
            },
      );
      return;
    }
    const isSubscription = command.method === 'resources/subscribe' || command.method === 'resources/unsubscribe';
    const settled = isSubscription ? subscriptions.settled(command, connection) : undefined;
    if (settled !== undefined) {
      end();
      settled
        .then((outcome) => this.#joined(call, connection, outcome))
        .catch((error: unknown) => this.#failed(call, error));
      return;
    }
    const attempt = new Attempt(this.#port, call, connection, tracedParams(command.params, call.span), end);
    const raised = levels.raise(connection, command.context);
    const changed = isSubscription ? subscriptions.change(command, connection) : undefined;
    if (command.method === 'logging/setLevel')
      this.#after(call, levels.judged(connection, command).finally(end), (outcome) => this.#finish(call, outcome));
    else if (raised !== undefined)
      raised
        .then(() => (this.#calls.has(call) ? attempt.send() : end()))
        .catch((error: unknown) => {
          end();
          this.#failed(call, error);
        });
    else if (changed !== undefined) {
      changed
        .then((outcome) => {
          end();
          if (command.method === 'resources/subscribe')
            subscriptions.told(command, connection, this.#calls.has(call) ? outcome : undefined);
          this.#finish(call, outcome);
        })
        .catch((error: unknown) => this.#failed(call, error));
    } else attempt.send();
  }

  /** Another call has already told the server what this one wanted to tell it. */
  #joined(call: Call, connection: UpstreamConnection, outcome: ExchangeOutcome | undefined): void {
    const isOpen = this.#calls.has(call);
    if (!isOpen || (outcome !== undefined && outcome.kind !== 'result'))
      this.#options.subscriptions.refused(call.command, connection);
    if (!isOpen) return;
    if (outcome === undefined) this.#startGuarded(call);
    else this.#finish(call, outcome);
  }

  /** The server has given its final answer. */
  #answered(attempt: Attempt, outcome: ExchangeOutcome, requestId: number): void {
    const { call, connection } = attempt;
    const { command } = call;
    const { questions, tasks, subscriptions, announceTask, connections } = this.#options;
    attempt.end(); // A2
    connections().learn(connection, outcome);
    questions.rememberElicitations(outcome, command.context.session);
    if (command.method === 'resources/subscribe') subscriptions.told(command, connection, outcome);
    const learned = tasks.learn({ command, connection, requestId }, outcome, (task) => announceTask(connection, task));
    if (learned.kind === 'result' && learned.place !== undefined) connection.goesOn(attempt);
    this.#finish(call, learned);
  }

  #refuse(call: Call, refusal: GatewayFault): void {
    this.#finish(call, { kind: 'fault', fault: refusal });
  }

  #finish(call: Call, given: ExchangeOutcome): void {
    const { repairs, catalog } = this.#options;
    if (!this.signIns.takes(call, given)) this.#end(call, repaired(call.command, given, repairs, catalog));
  }

  #end(call: Call, given: ExchangeOutcome): void {
    const { server } = this.#options;
    const problem = outcomeUrlProblem(given);
    const outcome: ExchangeOutcome =
      problem === undefined
        ? this.#options.schemas.checked(call.command, given)
        : {
            kind: 'fault',
            fault: fault('upstream.invalid', `server "${server}" sent an invalid answer: ${problem}`, { server }),
          };
    if (!this.#forget(call, resultOf(outcome))) return;
    this.#telling.ended(call, resultOf(outcome));
    call.span?.end(
      outcome.kind === 'fault'
        ? outcome.fault.reason
        : outcome.kind === 'error'
          ? String(outcome.error.code)
          : undefined,
    );
    call.reply(outcome); // A1
  }

  /** @returns false when the call had ended before. */
  #forget(call: Call, result: CallResult): boolean {
    if (!this.#calls.remove(call)) return false;
    this.#options.questions.forget(call.command.exchange);
    this.signIns.forget(call);
    call.limit.cancel();
    this.#options.meter.finished(
      result,
      (performance.now() - call.arrivedAt) / 1_000,
      listedToolOf(call.command, this.#options.catalog),
    );
    call.place?.leave(); // A2
    this.#drain.ended();
    return true;
  }
}
