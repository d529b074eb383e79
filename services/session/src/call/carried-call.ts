/**
 * One request of a client on its way to one server: it passes the exchange's messages to the client, and tells watchers.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 */
import { resultOf } from '@omnibus/bus';
import { fault, wire } from '@omnibus/protocol';
import type {
  ExchangeEvent,
  ExchangeOutcome,
  GatewayFault,
  InputAnswer,
  InputKey,
  JsonObject,
  KeptBytes,
  MayHaveBytes,
  ProgressEvent,
  WorkerId,
} from '@omnibus/protocol';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { CallHost } from './call-host.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import { Exchange } from './exchange.ts';
import { interrupted } from './exchange-faults.ts';
import type { ExchangeObserver, ExchangeRequest, OwnRequest } from './exchange-request.ts';
import type { KeptAtServers } from './kept-at-servers.ts';
import { OpenRequest, type OpenRequests } from './open-requests.ts';
import type { PublicMessages } from './public-messages.ts';
import type { Destination } from './plan.ts';
import { unchanged, type CallTransform, type Questioner } from './transform.ts';
import { transformOf } from './transforms.ts';
import type { CallEnd, EndedCall, SentCall, WatchedCall } from './watchers.ts';

type Result = Extract<ExchangeOutcome, { kind: 'result' }>;

/** What all calls of one client share. */
export interface CarrierParts<Stream extends CallStream> {
  readonly host: CallHost;
  readonly port: ClientPort<Stream>;
  /** Undefined for a client without a session. */
  readonly kept: KeptAtServers | undefined;
  readonly messages: PublicMessages<Stream>;
  readonly open: OpenRequests;
  /** Sends a request of the gateway's own. */
  sendOwn(request: OwnRequest, settled?: (outcome: ExchangeOutcome) => void): Exchange;
}

export interface Ending {
  /** Called once with the outcome; it answers the request. */
  readonly settled: (outcome: ExchangeOutcome) => void;
  /** Called instead if the request ends without an outcome: its client cancelled it, or the gateway gave it up. */
  readonly cancelled: (() => void) | undefined;
}

/** A request with a context that this call completes. */
export type CarriedRequest = Omit<ExchangeRequest, 'context'> & {
  readonly context: { -readonly [Member in keyof ExchangeRequest['context']]: ExchangeRequest['context'][Member] };
};

export class CarriedCall<Stream extends CallStream> extends OpenRequest implements ExchangeObserver {
  readonly #parts: CarrierParts<Stream>;
  readonly #call: ForwardedCall<Stream>;
  readonly #to: Destination;
  readonly #ending: Ending;
  /** The subject of the messages, for public ids. */
  readonly #about: Partial<TaskAddress> | undefined;
  readonly #transform: CallTransform;
  readonly takesAway = true;
  readonly #watched: WatchedCall[] = [];
  readonly #exchange: Exchange;
  #asker: Questioner | undefined;
  /** Left out if no watcher wants answers. */
  readonly answered: ((input: InputKey, answer: InputAnswer) => void) | undefined;
  /** When it was sent, in milliseconds by `performance.now()`. */
  readonly #since = performance.now();
  /** The tag under which it is watched. */
  readonly #tag: string | undefined;
  /** Whether its server has asked the client something. */
  #hasAsked = false;
  /** Whether it was cancelled or failed: the client gets nothing more, whatever a transform still inspects. */
  #isOver = false;

  /** @param request the exchange; watchers add to its context. Nothing is sent before `begin`. */
  constructor(
    parts: CarrierParts<Stream>,
    call: ForwardedCall<Stream>,
    to: Destination,
    ending: Ending,
    request: CarriedRequest,
  ) {
    const { server, tool, task } = to;
    super(call, server, tool ?? task?.tool);
    this.#parts = parts;
    this.#call = call;
    this.#to = to;
    this.#ending = ending;
    this.#about = task ?? (tool === undefined ? undefined : to);
    const { on } = parts.host.transforms;
    this.#transform = (on.length === 0 ? undefined : transformOf(on, call, to, parts.port)) ?? unchanged;
    const { host, port } = parts;
    const since = this.#since;
    let { trace } = call.stream;
    let tap: string | undefined;
    let wantsAnswers = false;
    for (const watcher of host.watchers.all) {
      const watched = watcher.sent?.({ client: port, call, to, since, trace, sender: parts });
      if (watched === undefined) continue;
      this.#watched.push(watched);
      trace = watched.trace ?? trace;
      tap = watched.tap ?? tap;
      wantsAnswers ||= 'answered' in watched;
    }
    if (wantsAnswers)
      this.answered = (input, answer) => {
        for (const watched of this.#watched) watched.answered?.(input, answer);
      };
    if (trace !== undefined) request.context.trace = trace;
    if (tap !== undefined) request.context.tap = tap;
    this.#tag = tap;
    this.#exchange = new Exchange(host, request, this);
  }

  /** Receives the client's answers; made with the first question. */
  get #questioner(): Questioner {
    this.#asker ??= this.#transform.asker(this.#exchange);
    return this.#asker;
  }

  /** Sends it, at once unless a watcher holds it. */
  begin(): void {
    this.#parts.open.add(this);
    let held: Promise<GatewayFault | undefined> | undefined;
    for (const watched of this.#watched) {
      const holds = watched.hold?.();
      // A later watcher waits beside an earlier one; the first fault ends the call.
      if (holds !== undefined)
        held = held === undefined ? holds : Promise.all([held, holds]).then(([one, other]) => one ?? other);
    }
    if (held === undefined) this.#exchange.begin();
    else
      void held
        .then((fault) => fault ?? this.#parts.open.doubt())
        .then((fault) => (fault === undefined ? this.#exchange.begin() : this.#exchange.end(fault)));
  }

  override giveAway(): void {
    this.#exchange.giveAway();
  }

  /** The client cancels it, or no client waits for it any more. */
  cancel(reason: string): void {
    this.#stop(reason, this.#exchange.goesOn ? 'moved' : 'cancelled');
    this.#call.stream.leaveUnanswered(); // S2
  }

  /** The gateway gives it up. One that another worker continues gets no answer here: the edge asks after it, and sends it there. */
  fail(fault: GatewayFault): void {
    if (this.#exchange.goesOn) {
      this.#stop(fault.message, 'moved');
      return;
    }
    this.#stop(fault.message, { kind: 'fault', fault });
    this.#parts.messages.answerFault(this.#call.stream, this.#call.id, fault); // S2
  }

  #stop(reason: string, outcome: CallEnd): void {
    this.#isOver = true;
    for (const watched of this.#watched) watched.ended?.(outcome, undefined);
    this.#failed(outcome);
    this.#exchange.cancel(reason);
    if (this.#hasAsked) this.#parts.port.askerEnded(this.#questioner, reason);
    for (const follower of this.#call.followers ?? []) follower.cancelled();
    this.#ending.cancelled?.();
  }

  // --- events of the exchange ------------------------------------------------------------------------------------------------

  progress(event: ProgressEvent): void {
    const { progressToken, stream } = this.#call;
    if (progressToken === undefined) return;
    const { messages } = this.#parts;
    this.#transform.progress(event, (shown) => {
      if (this.#isOver) return;
      messages.tellProgress(progressToken, messages.progress(this.#to.server, shown, this.#about), stream); // S1
    });
  }

  log(entry: JsonObject): void {
    const { messages, port } = this.#parts;
    const { server } = this.#to;
    if (!port.wantsLog(entry)) return;
    this.#transform.said('notifications/message', entry, (shown) => {
      if (!this.#isOver)
        this.#call.stream.send(messages.log(this.#call.view, server, messages.mention(server, shown, this.#about)));
    });
  }

  notification(method: string, params: JsonObject | undefined): void {
    this.#transform.said(method, params, (shown) => {
      if (!this.#isOver)
        this.#call.stream.send(this.#parts.messages.notification(this.#to.server, method, shown, this.#about));
    });
  }

  input(event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    this.#hasAsked = true;
    for (const watched of this.#watched) watched.asked?.(event);
    const { port, messages } = this.#parts;
    const { server } = this.#to;
    this.#transform.question(
      event,
      (shown) => {
        if (!this.#isOver)
          port.ask(this.#questioner, this.#call, server, {
            ...shown,
            params: messages.question(server, shown.params, this.#about),
          });
      },
      (answer) => this.#exchange.answerInput(event.input, answer),
    );
  }

  inputWithdrawn(input: InputKey, reason: string): void {
    for (const watched of this.#watched) watched.withdrawn?.(input);
    this.#transform.after(() => this.#parts.port.inputWithdrawn(this.#questioner, input, reason));
  }

  affinity(worker: WorkerId | undefined): void {
    this.#parts.kept?.noteAffinity(this.#to.server, worker);
  }

  lost(outcome: 'repeated' | 'unknown'): void {
    for (const watched of this.#watched) watched.lost?.(outcome);
    this.#parts.host.metrics.upstream.lost(this.#to.server, outcome);
  }

  settled(given: ExchangeOutcome): void {
    const away = given.kind === 'result' ? (given.result as MayHaveBytes)[wire]?.away : undefined;
    if (given.kind === 'result' && away !== undefined && !this.#passesAway(given)) this.#fetched(given, away);
    else if (this.#transform === unchanged || this.#transform.passesOutcomes === true) this.#end(given);
    else this.#settledBy(given);
  }

  /** Whether the client's edge can fetch the bytes of a result, since no part of this worker looks at them. */
  #passesAway(given: Result): boolean {
    const to: SentCall['to'] = this.#to;
    return (
      // Others do more with an answer than pass it on.
      to.kind === 'send' &&
      (this.#transform === unchanged || this.#transform.passesOutcomes === true) &&
      this.#watched.every(({ takesAway }) => takesAway === true) &&
      this.#parts.messages.passesAway(this.#call, to, given)
    );
  }

  /** Fetches the bytes of a result, and then settles the call with it. */
  #fetched(given: Result, away: KeptBytes): void {
    const { server } = this.#to;
    void away
      .fetch()
      .then(
        (bytes): ExchangeOutcome => ({ ...given, result: resultOf(bytes) }),
        (): ExchangeOutcome => ({ kind: 'fault', fault: interrupted(server, 'lost') }),
      )
      .then((outcome) => {
        if (!this.#isOver) this.settled(outcome);
      })
      .catch((error: unknown) => {
        this.#parts.host.log.error({ err: error }, 'a result that was fetched could not be passed on');
        if (!this.#isOver) this.fail(fault('internal.error'));
      });
  }

  #settledBy(given: ExchangeOutcome): void {
    this.#transform.outcome(given, (outcome) => {
      if (!this.#isOver) this.#end(outcome);
    });
  }

  #end(outcome: ExchangeOutcome): void {
    const { host, port, kept, messages, open } = this.#parts;
    const { server, params } = this.#to;
    if (this.#hasAsked) port.askerEnded(this.#questioner, 'the call has ended');
    open.remove(this);
    if (kept !== undefined && typeof params['uri'] === 'string')
      kept.noteSubscription(this.#call.method, server, params['uri'], outcome, this.#exchange.sentTo);
    if (outcome.kind === 'fault' && outcome.fault.reason === 'upstream.timeout') host.metrics.upstream.timedOut(server);
    for (const watched of this.#watched) watched.answering?.(outcome);
    this.#ending.settled(outcome);
    for (const watched of this.#watched) watched.ended?.(outcome, messages.lastLength);
    if (outcome.kind !== 'result' || outcome.result['isError'] === true) this.#failed(outcome);
    open.lookIdle();
  }

  /** Tells watchers of failures how it has ended. A client that cancels its call has seen no failure, and neither has one whose call another worker continues. */
  #failed(outcome: CallEnd): void {
    if (typeof outcome === 'string') return;
    const ended: EndedCall = { client: this.#parts.port, call: this.#call, to: this.#to, since: this.#since };
    for (const watcher of this.#parts.host.watchers.all) watcher.failed?.(ended, outcome, this.#tag);
  }
}
