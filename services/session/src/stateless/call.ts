/**
 * One call of a client without a session, over all the requests it takes: when the server asks something, the client is
 * answered with the question and comes back with the answer in a request of its own, while the call stays open at the server
 * (2026-07-28 basic/patterns, Multi Round-Trip Requests; the call is never made a second time).
 *
 *              question                window over              answers complete
 *   running ------------> collecting ------------> parked ----------------------> running
 *      | answer                                      | answer, time over
 *      v                                             v
 *   settled <-----------------------------------------
 *
 * Invariants
 *  M1  The server hears one answer to each question, however often the client sends it.
 *  M2  A request that brings answers a second time joins the call; it gets what the call is answered with.
 *  M3  A call whose client has gone while it ran is cancelled; between two rounds a client holds no connection, and is not gone.
 *  M5  While it runs it has a place among what runs, while it is kept for its client one among what is kept, and never both.
 */
import type { View } from '@omnibus/catalog';
import type { Deadline } from '@omnibus/lifecycle';
import {
  carriedExtensions, createdTask, declaresExtension, fault, inputCapabilities, isCustomMethod, isInputMethod, isObject, logLevels, modernCodes, isLogLevel, tasksExtension,
  type Caller, type ExchangeEvent, type ExchangeMethod, type GatewayFault, type InputKey, type InputMethod, type JsonObject, type JsonRpcId, type LogLevel, type ProgressEvent,
  type ServerName, type SessionKey,
} from '@omnibus/protocol';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { logText } from '../dialect/messages.ts';
import { inputRequest, inputRequired, modernError, modernResult, responseProblem } from '../dialect/modern/encode.ts';
import type { Exchange } from '../call/exchange.ts';
import { Forwarding, type CallStream, type ClientPort, type ServerAnswer } from '../call/forward.ts';
import type { SessionHost } from '../host.ts';
import type { LinkedResources } from '../call/routes/linked-resources.ts';
import type { Kept } from './shelf.ts';
import { extensionTask } from './legacy-tasks.ts';
import { answer, answerResult, progressTokenOf, refuse, send, type PendingReply } from './pending-reply.ts';
import { RoundProgress } from './round-progress.ts';

/** Where a call has its place (M5). */
interface Places {
  /** Leaves those that run; or is kept on, with another size. @returns why it cannot be kept, and has to end. */
  keep(kept: Kept, bytes: number): GatewayFault | undefined;
  /** Runs again. @returns why it cannot now, and is kept on. */
  run(kept: Kept): GatewayFault | undefined;
}

export interface StatelessCallOptions {
  readonly host: SessionHost;
  readonly view: View;
  readonly linkedResources: LinkedResources;
  readonly first: PendingReply;
  /** Parameters for the server, less what belongs to this hop. */
  readonly params: JsonObject;
  readonly method: ExchangeMethod;
  /** Seals where the call can be continued. */
  readonly seal: (round: number) => string;
  /** What a client brings back in place of a state that its server wants back. */
  readonly bindState: (text: string) => string;
  /** Milliseconds a client has to answer. */
  readonly humanMs: number;
  /** What to answer when the server wants URLs visited before it is called again. */
  readonly urlsRequired: (error: JsonObject) => JsonObject | undefined;
  readonly places: Places;
  /** Nobody can come back to it any more. */
  readonly ended: (call: StatelessCall) => void;
}

interface CallQuestion {
  readonly asker: Exchange;
  readonly input: InputKey;
  readonly method: InputMethod;
  readonly entry: JsonObject;
}

const methodNotFound = -32_601;
/** Questions that a server asks together are asked together. */
const collectMs = 20;
/** Requests that wait for the answer to one call: a client that repeats itself does so a few times. */
const maxWaiters = 16;
/** How long an answered call can be asked for again. */
const keepSettledMs = 60_000;

export class StatelessCall implements CallStream, ClientPort<StatelessCall>, Kept {
  readonly #options: StatelessCallOptions;
  readonly #forwarding: Forwarding<StatelessCall>;
  readonly #questions = new Map<string, CallQuestion>();
  #waiters: PendingReply[];
  /** The latest request, whose capabilities, log level and progress token count. */
  #latest: PendingReply;
  #phase: 'running' | 'collecting' | 'parked' | 'settled' = 'running';
  #round = 0;
  #questionCount = 0;
  #collecting: NodeJS.Timeout | undefined;
  #answer: { readonly member: string; readonly httpStatus: number } | { readonly fault: GatewayFault } | undefined;
  #httpStatus = 200;
  /** When an answer cannot be asked for again any more. */
  #forgetting: Deadline | undefined;
  readonly #progress = new RoundProgress();
  #askedUntil = Infinity;

  constructor(options: StatelessCallOptions) {
    this.#options = options;
    this.#latest = options.first;
    this.#waiters = [options.first];
    this.#forwarding = new Forwarding(options.host, this, options.linkedResources, { idle: () => undefined, touched: () => undefined });
  }

  start(): void {
    const { method, params, view, first } = this.#options;
    this.#forwarding.forward(this, first.command.request.id, method, params, view);
  }

  // --- the party ---------------------------------------------------------------------------------------------------------

  get key(): SessionKey {
    return this.#options.first.command.key;
  }

  get caller(): Caller {
    return this.#options.first.command.caller;
  }

  get trace(): string | undefined {
    return this.#latest.command.trace;
  }

  readonly standsAlone = true;

  capabilities(): JsonObject {
    return offeredCapabilities(this.#latest.command.context.capabilities, carriedExtensions);
  }

  logLevel(): LogLevel | undefined {
    return this.#latest.command.context.logLevel;
  }

  knowsTasks(): boolean {
    return false;
  }

  takesTasks(): boolean {
    return declaresExtension(this.#latest.command.context.capabilities, tasksExtension);
  }

  push(): void {
    // Nothing outlives a request of this revision.
  }

  progressText(_token: JsonRpcId, event: ProgressEvent): string | undefined {
    return this.#phase === 'parked' ? this.#progress.keep(event) : this.#progress.text(event, progressTokenOf(this.#latest));
  }

  logText(params: JsonObject, view: View, server: ServerName): string | undefined {
    const wanted = this.logLevel();
    const { level } = params;
    if (wanted === undefined || (isLogLevel(level) && logLevels.indexOf(level) < logLevels.indexOf(wanted))) return undefined;
    return logText(params, view.definition.servers.length > 1 ? server : undefined);
  }

  ask(asker: Exchange, _call: unknown, _server: ServerName, { input, method, params, movedFrom }: Extract<ExchangeEvent, { kind: 'input' }>): void {
    if (movedFrom !== undefined && [...this.#questions.values()].some((question) => question.input === input)) return;
    // What no revision knows has no place among `inputRequests` (2026-07-28 basic/patterns, Multi Round-Trip Requests).
    if (!isInputMethod(method) || !this.#canBeAsked(method, params)) {
      asker.answerInput(input, { error: { code: -32_601, message: `the client declared no capability for ${method}` } });
      return;
    }
    this.#questionCount += 1;
    this.#questions.set(`r${this.#questionCount}`, { asker, input, method, entry: inputRequest(method, params) });
    if (this.#phase === 'parked') {
      const refusal = this.#options.places.keep(this, this.#size);
      if (refusal !== undefined) this.#forwarding.failAll(refusal);
    }
    if (this.#phase !== 'running') return;
    this.#phase = 'collecting';
    this.#collecting = setTimeout(() => this.#park(), collectMs);
  }

  #canBeAsked(method: InputMethod, params: JsonObject): boolean {
    const capability = this.capabilities()[inputCapabilities[method]];
    return isObject(capability) && (params['mode'] !== 'url' || isObject(capability['url']));
  }

  inputWithdrawn(_asker: Exchange, input: InputKey): void {
    for (const [key, question] of this.#questions) if (question.input === input) this.#questions.delete(key);
  }

  askerEnded(asker: Exchange): void {
    for (const [key, question] of this.#questions) if (question.asker === asker) this.#questions.delete(key);
  }

  answerOf(method: ExchangeMethod, outcome: ServerAnswer): ServerAnswer {
    if (outcome.kind === 'result') {
      const task = method === 'tools/call' && !('resultType' in outcome.result) ? createdTask(outcome.result) : undefined;
      const result = modernResult(method, task === undefined ? outcome.result : { resultType: 'task', ...extensionTask(task) });
      const { resultType, requestState } = result;
      return { kind: 'result', result: resultType === 'input_required' && typeof requestState === 'string' ? { ...result, requestState: this.#options.bindState(requestState) } : result };
    }
    const required = this.#options.urlsRequired({ ...outcome.error });
    if (required !== undefined) return { kind: 'result', result: required };
    const error = modernError(outcome.error);
    if (error.code === modernCodes.capabilityMissing) this.#httpStatus = 400;
    else if (error.code === methodNotFound && isCustomMethod(method)) this.#httpStatus = 404;
    return { kind: 'error', error };
  }

  // --- what goes to the client ---------------------------------------------------------------------------------------------

  send(text: string): void {
    const waiter = this.#waiters.at(-1);
    if (waiter !== undefined) send(waiter, text);
  }

  answerMember(_id: JsonRpcId, member: string): void {
    this.#settle({ member, httpStatus: this.#httpStatus });
  }

  refuse(_id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.#settle({ fault: gatewayFault });
  }

  leaveUnanswered(): void {
    clearTimeout(this.#collecting);
    this.#phase = 'settled';
    this.#options.ended(this);
  }

  #settle(given: { readonly member: string; readonly httpStatus: number } | { readonly fault: GatewayFault }): void {
    clearTimeout(this.#collecting);
    this.#phase = 'settled';
    this.#answer = given;
    for (const waiter of this.#waiters.splice(0)) this.#deliver(waiter);
    // An answer that there is no room for cannot be asked for again; the client has been sent it.
    if (this.#round === 0 || this.#options.places.keep(this, 'member' in given ? given.member.length : 0) !== undefined) this.#options.ended(this);
    else this.#forgetting = this.#options.host.wheel.schedule(keepSettledMs, () => this.#options.ended(this));
  }

  /** Others of the same client are kept in its place. */
  drop(reason: string): void {
    this.#forgetting?.cancel();
    if (this.#phase === 'settled') this.#options.ended(this);
    else this.#forwarding.cancelAll(reason);
  }

  #deliver(waiter: PendingReply): void {
    const given = this.#answer;
    if (given === undefined) return;
    if ('fault' in given) refuse(waiter, given.fault);
    else answer(waiter, given.member, given.httpStatus);
  }

  // --- rounds ----------------------------------------------------------------------------------------------------------------

  #park(): void {
    if (this.#phase !== 'collecting') return;
    if (this.#questions.size === 0) {
      this.#phase = 'running';
      return;
    }
    const refusal = this.#options.places.keep(this, this.#size);
    if (refusal !== undefined) {
      this.#forwarding.failAll(refusal);
      return;
    }
    this.#phase = 'parked';
    this.#round += 1;
    for (const waiter of this.#waiters.splice(0)) this.#askFor(waiter);
  }

  /** Bytes, about, of what it was sent and is asked. */
  get #size(): number {
    const { params } = this.#options;
    return JSON.stringify(params).length + JSON.stringify([...this.#questions.values()].map(({ entry }) => entry)).length;
  }

  /** The time to come back is over. */
  get isOverdue(): boolean {
    return performance.now() > this.#askedUntil;
  }

  #askFor(waiter: PendingReply): void {
    this.#askedUntil = performance.now() + this.#options.humanMs;
    const requests = Object.fromEntries([...this.#questions].map(([key, { entry }]) => [key, entry]));
    answerResult(waiter, inputRequired(requests, this.#options.seal(this.#round)));
  }

  /** A request that comes back with the state of a round. */
  resume(waiter: PendingReply, round: number): void {
    if (this.#phase === 'settled') {
      this.#progress.resumed(waiter);
      this.#deliver(waiter); // M2
    } else if (this.#phase !== 'parked') {
      this.#join(waiter); // M2
    } else if (round !== this.#round) {
      this.#askFor(waiter); // M2: an old state, while the next question is open.
    } else {
      this.#takeAnswers(waiter);
    }
  }

  #join(waiter: PendingReply): void {
    if (this.#waiters.length < maxWaiters) this.#waiters.push(waiter);
    else refuse(waiter, fault('session.busy', `${maxWaiters} requests wait for the answer to this call already`));
  }

  #takeAnswers(waiter: PendingReply): void {
    const given = waiter.command.request.params?.['inputResponses'];
    const responses = isObject(given) ? given : {};
    const answered = [...this.#questions].filter(([key]) => Object.hasOwn(responses, key));
    for (const [key, { method }] of answered) {
      const problem = responseProblem(method, responses[key]);
      if (problem === undefined) continue;
      refuse(waiter, fault('params.invalid', `params.inputResponses.${key} ${problem}`));
      return;
    }
    const isComplete = answered.length === this.#questions.size;
    const refusal = isComplete ? this.#options.places.run(this) : undefined;
    if (refusal !== undefined) {
      refuse(waiter, refusal); // The client comes back with the same answers.
      return;
    }
    this.#latest = waiter;
    if (isComplete) {
      this.#phase = 'running';
      this.#progress.resumed(waiter);
      this.#waiters.push(waiter);
    }
    for (const [key, { asker, input }] of answered) {
      this.#questions.delete(key); // M1
      asker.answerInput(input, { result: responses[key] as JsonObject });
    }
    if (isComplete) return;
    this.#round += 1;
    this.#askFor(waiter);
  }

  waits(key: SessionKey): boolean {
    return this.#waiters.some(({ command }) => command.key === key);
  }

  /** @returns false when it is none of this call's. */
  closed(key: SessionKey, reason: string): boolean {
    const index = this.#waiters.findIndex(({ command }) => command.key === key);
    if (index === -1) return false;
    this.#waiters.splice(index, 1);
    if (this.#waiters.length === 0 && this.#phase !== 'parked') this.#forwarding.cancelAll(reason); // M3
    return true;
  }

  /** The gateway stops: whoever comes back finds nobody. */
  abandon(reason: string): void {
    this.#forwarding.cancelAll(reason);
  }

  get isParked(): boolean {
    return this.#phase === 'parked';
  }

  get isRunning(): boolean {
    return this.#phase === 'running' || this.#phase === 'collecting';
  }
}
