/**
 * The calls of one server, from the command of a session to the final event: place -> connection -> steps -> attempt. Features take part as steps and watchers
 * (`steps.ts`).
 *
 * Invariants
 *  A1  Every call gets exactly one final event, unless it was cancelled; then none.
 *  A2  A call returns its place in the bulkhead when the call is forgotten, and its connection when its attempt ends; each once.
 */
import { KeyedRing } from '@omnibus/collections';
import type { ServerConfig } from '@omnibus/config';
import { Bulkhead, Drain, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault,
  isComplete,
  outcomeUrlProblem,
  presenceMs,
  type Asker,
  type CallCommand,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeOutcome,
  type GatewayFault,
  type InputKey,
  type LogLevel,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import type { CallMeter, CallResult, Logger } from '@omnibus/telemetry';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import { Attempt, wordsOf, type AttemptPort } from './attempt.ts';
import { Call } from './call.ts';
import type { QuestionRelay } from './question-relay.ts';
import { byMethod, stepsWith, type CallRun, type CallStep, type CallWatcher, type Placed } from './steps.ts';

export interface CallsOptions {
  readonly server: ServerName;
  readonly config: Pick<ServerConfig, 'concurrency' | 'maxWaiting'>;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly meter: CallMeter;
  /** Whether the session worker that made a call is still there; undefined where it cannot be gone alone. */
  readonly isWaitedFor: ((call: Call) => Promise<boolean>) | undefined;
  /** What features add to the calls, in this order. */
  readonly steps: readonly CallStep[];
  readonly watchers: readonly CallWatcher[];
  readonly catalog: Pick<CatalogPublisher, 'toolOf' | 'refresh'>;
  readonly questions: QuestionRelay;
  /** Chooses the connection of a call. */
  readonly pool: Pick<ConnectionPool, 'common' | 'settling' | 'turn' | 'take' | 'learn'>;
  /** Called for a log message that is dropped because there are too many. */
  readonly dropped: () => void;
}

/** The session ends a call at its time limit; the adapter waits this much longer, in case the session is gone. */
const orphanGraceMs = 5_000;

export class Calls implements CallRun, AttemptPort {
  readonly #options: CallsOptions;
  readonly #bulkhead: Bulkhead;
  readonly #calls = new KeyedRing<Call>();
  readonly #drain: Drain;
  readonly wheel: DeadlineWheel;
  readonly questions: QuestionRelay;
  readonly dropped: () => void;
  readonly refreshTools: () => Promise<void>;
  readonly least: (call: Call) => LogLevel | undefined;
  readonly #before;
  readonly #place;
  readonly #params;
  readonly #prepare;
  readonly #holds;
  readonly #goesOn;
  readonly #outcome;
  readonly #forgotten;
  readonly #takes;
  readonly #answers;
  readonly #cancels;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#bulkhead = new Bulkhead(options.config);
    const { steps, watchers, wheel, catalog, questions, dropped } = options;
    this.#drain = new Drain(wheel);
    this.wheel = wheel;
    this.questions = questions;
    this.dropped = dropped;
    this.refreshTools = () => catalog.refresh('tools');
    const [least] = stepsWith(steps, 'least');
    this.least = (call) => (least === undefined ? call.command.context.logLevel : least.least(call));
    this.#before = stepsWith(steps, 'before');
    this.#place = stepsWith(steps, 'place');
    this.#params = stepsWith(steps, 'params');
    this.#prepare = stepsWith(steps, 'prepare');
    this.#holds = stepsWith(steps, 'holds');
    this.#goesOn = stepsWith(steps, 'goesOn');
    this.#outcome = stepsWith(steps, 'outcome');
    this.#forgotten = stepsWith(steps, 'forgotten');
    this.#takes = byMethod(steps, 'takes');
    this.#answers = byMethod(steps, 'answers');
    this.#cancels = byMethod(steps, 'cancels');
    for (const step of steps) step.join?.(this);
    for (const watcher of watchers) watcher.join?.(() => this.#calls.toArray());
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
  async drained(limitMs: number): Promise<void> {
    const { steps, watchers } = this.#options;
    for (const step of steps) step.stop?.();
    await this.#drain.until(() => this.#calls.size === 0, limitMs);
    for (const watcher of watchers) watcher.stop?.();
  }

  begin(command: CallCommand, reply: (event: ExchangeEvent) => void): void {
    const { watchers, wheel, catalog } = this.#options;
    const limit = wheel.schedule(command.context.maxTimeMs + orphanGraceMs, () =>
      this.cancel(command.exchange, 'the time limit has passed', true),
    );
    const call = new Call(command, reply, limit, catalog.toolOf(command));
    this.#calls.add(call);
    for (const watcher of watchers) {
      if (watcher.given !== undefined && command.context[watcher.given] === undefined) continue;
      const watched = watcher.begun(call, this.#bulkhead);
      if (watched !== undefined) call.watch(watched);
    }
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
      this.resume(call, () => this.#run(call));
    });
    waits = true;
    call.place = place;
    if (place !== undefined) return;
    const { server, config } = this.#options;
    const { concurrency, maxWaiting } = config;
    const problem = `server "${server}" is busy: of ${concurrency} requests that may run and ${maxWaiting} that may wait, this session has its share`;
    this.#refuse(call, fault('upstream.busy', problem, { server }));
  }

  /** A client has answered a question of a call. The time limit stood still at the session meanwhile, and so it must here. */
  inputAnswered(exchange: ExchangeId, input: InputKey): void {
    const call = this.#calls.get(exchange);
    call?.limit.extend(call.command.context.maxTimeMs + orphanGraceMs);
    call?.reply({ kind: 'input-answered', input });
  }

  /** Whether a call has another owner than this sender by now. @param owner undefined for a sender whose commands always count. */
  isAnothers(exchange: Asker, owner: WorkerId | undefined): boolean {
    return owner !== undefined && this.#isAnothers(this.#calls.get(exchange as ExchangeId), owner);
  }

  #isAnothers(call: Call | undefined, owner: WorkerId | undefined): boolean {
    return call !== undefined && owner !== undefined && call.owner !== owner;
  }

  /** @param owner the session worker that cancels it. A call that another one has taken over goes on; undefined: nothing else may decide about it. */
  cancel(exchange: ExchangeId, reason: string, isTimeout: boolean, owner?: WorkerId): void {
    const call = this.#calls.get(exchange);
    if (call === undefined || this.#isAnothers(call, owner)) return;
    const { running } = call;
    // The connection comes first: a question that another call takes over must move there before this call is forgotten.
    running?.cancel(reason, isTimeout);
    if (running !== undefined) this.#cancels[call.command.method]?.(call, running.connection);
    call.end(); // A2
    this.#forget(call, 'cancelled', undefined);
  }

  // --- what steps may do -------------------------------------------------------------------------------------------------------

  isOpen(call: Call): boolean {
    return this.#calls.has(call);
  }

  again(call: Call): void {
    this.resume(call, () => (call.place === undefined ? this.#enter(call) : this.#run(call)));
  }

  finish(call: Call, given: ExchangeOutcome): void {
    for (const step of this.#holds) if (step.holds(call, given)) return;
    this.end(call, given);
  }

  failed(call: Call, error: unknown): void {
    this.#options.log.error({ err: error, exchange: call.command.exchange }, 'a call could not be made');
    // What failed may be a step, so none is asked about this end.
    call.end(); // A2
    const outcome: ExchangeOutcome = { kind: 'fault', fault: fault('internal.error') };
    if (this.#forget(call, 'fault', outcome)) call.reply(outcome); // A1
  }

  report(call: Call, message: string, step: number): void {
    wordsOf(call, this).progress({ token: undefined, progress: step, message });
  }

  // --- the way of a call --------------------------------------------------------------------------------------------------------

  /** Runs a call; a bug in the gateway ends the call and nothing else. */
  #run(call: Call): void {
    if (!this.#calls.has(call)) return;
    const { pool } = this.#options;
    const { context } = call.command;
    try {
      const common = pool.common(context);
      const settling = common === undefined ? pool.settling(context) : undefined;
      if (settling === undefined) this.#pass(call, common);
      else this.#after(call, settling, () => this.resume(call, () => this.#pass(call, undefined)));
    } catch (error) {
      this.failed(call, error);
    }
  }

  /** Continues a call that has waited. If its session worker is gone, its client gets an unknown outcome: then the call is not made any more. */
  resume(call: Call, go: () => void): void {
    const { server, isWaitedFor, catalog } = this.#options;
    call.tool = catalog.toolOf(call.command);
    if (isWaitedFor === undefined || performance.now() - call.wantedAt < presenceMs) {
      go();
      return;
    }
    const { owner } = call;
    this.#after(call, isWaitedFor(call), (isWanted) => {
      // Another session worker may have taken it over meanwhile.
      if (isWanted || call.owner !== owner) {
        call.wantedAt = performance.now();
        go();
        return;
      }
      call.running?.cancel('nobody waits for the answer', false);
      call.end(); // A2
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
      .catch((error: unknown) => this.failed(call, error));
  }

  /** Asks the steps before a connection is taken. @param common the shared connection, if it serves this call. */
  #pass(call: Call, common: UpstreamConnection | undefined): void {
    const { method, context } = call.command;
    for (const step of this.#before) {
      if (step.client !== undefined && !(step.client in context.capabilities)) continue;
      const outcome = step.before(call);
      if (outcome === undefined) continue;
      if (outcome !== 'held') this.finish(call, outcome);
      return;
    }
    let placed: ReturnType<NonNullable<CallStep['place']>>;
    for (const step of this.#place) if (step.ignores?.has(method) !== true) placed ??= step.place(call);
    if (placed !== undefined && 'fault' in placed) {
      this.#refuse(call, placed.fault);
      return;
    }
    if (placed === undefined && common !== undefined) {
      call.isCommon = true;
      this.#send(call, common);
      return;
    }
    const turn = placed === undefined ? this.#options.pool.turn(context, call.rootsKey) : undefined;
    if (turn === undefined) this.#start(call, placed);
    else this.#after(call, turn, () => this.resume(call, () => this.#start(call, undefined)));
  }

  #start(call: Call, placed: Placed | undefined): void {
    const { server, pool } = this.#options;
    let connection = placed?.connection;
    call.isCommon = false;
    if (connection === undefined) {
      const taken = pool.take(call.command.context, call.rootsKey);
      if ('refused' in taken) {
        const problem = `server "${server}" can be given no connection for this caller: all that ${taken.refused} allows are in use`;
        this.#refuse(call, taken.fault ?? fault('upstream.connections', problem, { server }));
        return;
      }
      call.done = taken.done;
      connection = taken.connection;
    }
    const refusal = placed?.refuses(connection);
    if (refusal === undefined) {
      this.#send(call, connection);
      return;
    }
    call.end();
    this.#refuse(call, refusal);
  }

  #say(call: Call, connection: UpstreamConnection): void {
    const { server } = this.#options;
    const isSaid = connection.say(call.command.method, call.command.params);
    call.end();
    if (isSaid) this.finish(call, { kind: 'result', result: {} });
    else
      this.#refuse(
        call,
        fault('upstream.unavailable', `server "${server}" cannot be told anything but requests now`, { server }),
      );
  }

  #send(call: Call, connection: UpstreamConnection): void {
    const { command } = call;
    if (command.isNotification === true) {
      this.#say(call, connection);
      return;
    }
    let { params } = command;
    for (const step of this.#params) params = step.params(call, params);
    for (const watched of call.watched) params = watched.params?.(params) ?? params;
    const attempt = new Attempt(this, call, connection, params);
    let wait: Promise<unknown> | undefined;
    for (const step of this.#prepare)
      if (step.given === undefined || command.context[step.given] !== undefined) wait ??= step.prepare(attempt);
    const send = this.#takes[attempt.method];
    if (wait === undefined && send === undefined) attempt.send();
    else if (wait === undefined) send?.(attempt);
    else
      wait
        .then(() => {
          if (!this.#calls.has(call)) call.end();
          else this.resume(call, () => (send === undefined ? attempt.send() : send(attempt)));
        })
        .catch((error: unknown) => this.failed(call, error));
  }

  /** The server has given its final answer. */
  answered(attempt: Attempt, given: ExchangeOutcome, requestId: number): void {
    const { call, connection } = attempt;
    const { questions, pool, catalog } = this.#options;
    // The server's list may have come after the call.
    call.tool ??= catalog.toolOf(call.command);
    if (!call.isCommon) {
      call.end(); // A2
      pool.learn(connection, given);
    }
    if (given.kind === 'error') questions.rememberElicitations(given, call.session);
    let outcome = this.#answers[attempt.method]?.(attempt, given, requestId) ?? given;
    if (outcome.kind === 'result' && !isComplete(outcome.result))
      for (const step of this.#goesOn) outcome = step.goesOn(attempt, outcome, requestId);
    if (this.#holds.length === 0) this.end(call, outcome);
    else this.finish(call, outcome);
  }

  #refuse(call: Call, refusal: GatewayFault): void {
    this.finish(call, { kind: 'fault', fault: refusal });
  }

  end(call: Call, given: ExchangeOutcome): void {
    const { server } = this.#options;
    const problem = given.kind === 'result' && isComplete(given.result) ? undefined : outcomeUrlProblem(given);
    let outcome: ExchangeOutcome = given;
    if (problem === undefined) for (const step of this.#outcome) outcome = step.outcome(call, outcome);
    else
      outcome = {
        kind: 'fault',
        fault: fault('upstream.invalid', `server "${server}" sent an invalid answer: ${problem}`, { server }),
      };
    const result = outcome.kind === 'result' && outcome.result['isError'] === true ? 'tool_error' : outcome.kind;
    if (this.#forget(call, result, outcome)) call.reply(outcome); // A1
  }

  /** @param outcome undefined for a call that was cancelled. @returns false when the call had ended before. */
  #forget(call: Call, result: CallResult, outcome: ExchangeOutcome | undefined): boolean {
    if (!this.#calls.remove(call)) return false;
    const { questions, meter, log } = this.#options;
    try {
      if (questions.isOpen) questions.forget(call.exchange);
      for (const step of this.#forgotten) step.forgotten(call);
    } catch (error) {
      log.error({ err: error, exchange: call.command.exchange }, 'a feature could not forget a call, which ends');
    }
    call.limit.cancel();
    meter.finished(result, (performance.now() - call.arrivedAt) / 1_000, call.tool?.name);
    call.place?.leave(); // A2
    if (this.#drain.isAwaited) this.#drain.ended();
    try {
      for (const watched of call.watched) watched.ended?.(result, outcome);
    } catch (error) {
      log.error({ err: error, exchange: call.command.exchange }, 'a watcher failed at the end of a call');
    }
    return true;
  }
}
