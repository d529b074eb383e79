/**
 * Carries requests of one client to servers, each as an exchange, and brings back what belongs to it.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 */
import { subjects } from '@omnibus/bus';
import { fault, type ControlCommand, type ExchangeContext, type ExchangeMethod, type ExchangeOutcome, type JsonObject, type ServerName } from '@omnibus/protocol';
import { inContext, type TaskAddress } from '../public-ids/task-ids.ts';
import type { CallHost } from './call-host.ts';
import { errorOf, traceOf } from './call-span.ts';
import { clientOf } from './client-of.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import { Exchange } from './exchange.ts';
import type { TimeLimits, Topic } from './exchange-request.ts';
import type { KeptAtServers } from './kept-at-servers.ts';
import { OpenRequest, OpenRequests } from './open-requests.ts';
import type { PublicWords } from './public-words.ts';
import type { QuestionRecords } from './records.ts';
import { redactedOutcome, redactedProgress, redactedWords } from './redacted.ts';
import type { Destination } from './route.ts';

/** A request that is the gateway's own, made for a client that hears nothing of it. */
export interface OwnRequest {
  readonly method: ExchangeMethod;
  readonly server: ServerName;
  readonly params: JsonObject;
  readonly subject: Topic;
  readonly task?: TaskAddress;
  readonly isNotification?: boolean;
}

export class Carrier<Stream extends CallStream> {
  readonly open = new OpenRequests();
  readonly #host: CallHost;
  readonly #port: ClientPort<Stream>;
  readonly #kept: KeptAtServers;
  readonly #words: PublicWords<Stream>;
  readonly #idle: () => void;

  /** @param idle nothing is on its way any more. */
  constructor(host: CallHost, port: ClientPort<Stream>, kept: KeptAtServers, words: PublicWords<Stream>, idle: () => void) {
    this.#host = host;
    this.#port = port;
    this.#kept = kept;
    this.#words = words;
    this.#idle = idle;
  }

  /**
   * @param settled hears the outcome, once, and answers the request.
   * @param cancelled runs where the request ends without that: its client cancelled it, or it was given up.
   */
  carry(call: ForwardedCall<Stream>, to: Destination, settled: (outcome: ExchangeOutcome) => void, cancelled?: () => void): void {
    const { server, params, subject, tool, isRepeatable, task } = to;
    const about = task ?? (tool === undefined ? undefined : to);
    const { stream, progressToken, view, method } = call;
    const redaction = call.permission?.redaction;
    const { nextExchangeId, tracing, metrics, records, telling } = this.#host;
    this.#kept.contact(server);
    const span = tracing?.start('internal', { method, params: method === 'tools/call' ? { name: subject[1] } : params, attributes: { 'mcp.session.id': this.#port.key, 'omnibus.server': server } }, stream.trace);
    const begun = records?.begin(this.#port, { id: call.id, method, params: call.given, trace: span?.traceparent ?? stream.trace, permission: call.permission }, view, to);
    const since = performance.now();
    const tag = telling.routed(this.#port, call, to);
    let questions: QuestionRecords | undefined;
    const stop = (reason: string, outcome: ExchangeOutcome | 'cancelled'): void => {
      if (begun !== undefined) records?.ended(begun, outcome);
      telling.ended(this.#port, call, to, outcome, { tag, since });
      questions?.ended();
      span?.end('cancelled');
      running.cancel(reason);
      this.#port.askerEnded(running, reason);
      call.tab?.cancelled();
      cancelled?.();
    };
    const open = new OpenRequest(call.id, (reason) => {
      stop(reason, 'cancelled');
      stream.leaveUnanswered(); // S2
    }, (gatewayFault) => {
      stop(gatewayFault.message, { kind: 'fault', fault: gatewayFault });
      this.#words.answerFault(stream, call.id, gatewayFault); // S2
    }, server, tool ?? task?.tool);
    const running = new Exchange(this.#host, {
      exchange: nextExchangeId(), server, method, params, subject, limits: this.#limits(call, server, tool),
      context: { ...this.#context(server, progressToken !== undefined), ...inContext(task), ...traceOf(span?.traceparent ?? stream.trace), ...(tag === undefined ? {} : { tap: tag }) },
      affinity: this.#kept.affinityTo(server), ...(isRepeatable === undefined ? {} : { isRepeatable }),
    }, {
      progress: (event) => {
        if (progressToken !== undefined) this.#words.tellProgress(progressToken, this.#words.progress(server, redactedProgress(event, redaction), about), stream); // S1
      },
      lost: (outcome) => {
        if (tag !== undefined) telling.tap.tell(tag, 'session', outcome);
        metrics.upstream.lost(server, outcome);
      },
      affinity: (worker) => this.#kept.noteAffinity(server, worker),
      log: (entry) => {
        const text = this.#words.log(view, server, this.#words.mention(server, redactedWords(entry, redaction), about));
        if (text !== undefined) stream.send(text);
      },
      notification: (said, more) => stream.send(this.#words.notification(server, said, redactedWords(more, redaction), about)),
      input: (event) => {
        questions ??= records?.questions(this.#port, server, span?.traceparent ?? stream.trace);
        questions?.asked(event.input, event.method);
        if (tag !== undefined) telling.tap.tell(tag, 'session', 'asked', { asks: event.method });
        this.#port.ask(running, call, server, { ...event, params: this.#words.question(server, redactedWords(event.params, redaction), about) });
      },
      answered: records === undefined ? undefined : (input, answer) => questions?.answered(input, answer),
      inputWithdrawn: (input, reason) => {
        questions?.withdrawn(input);
        this.#port.inputWithdrawn(running, input, reason);
      },
      settled: (given) => {
        const outcome = redactedOutcome(given, redaction);
        this.#port.askerEnded(running, 'the call has ended');
        this.open.remove(open);
        this.#kept.noteSubscription(method, server, params, outcome, running.sentTo);
        if (outcome.kind === 'fault' && outcome.fault.reason === 'upstream.timeout') metrics.upstream.timedOut(server);
        span?.end(errorOf(outcome));
        settled(outcome);
        questions?.ended();
        if (begun !== undefined) records?.ended(begun, outcome, this.#words.lastLength);
        telling.ended(this.#port, call, to, outcome, { tag, since, characters: outcome.kind === 'fault' ? 0 : this.#words.lastLength });
        if (this.open.size === 0) this.#idle();
      },
    });
    this.open.add(open);
    if (begun === undefined || records?.mustConfirm(begun) !== true) running.begin();
    else void records.confirm(begun).then((isSafe) => (isSafe ? running.begin() : running.end(fault('audit.unavailable'))));
  }

  /** Sends something of which at most the end matters. */
  sendOwn({ method, server, params, subject, task, isNotification }: OwnRequest, settled?: (outcome: ExchangeOutcome) => void): Exchange {
    return Exchange.start(this.#host, {
      exchange: this.#host.nextExchangeId(), server, method, params, subject, limits: this.#host.timeLimits(server, undefined), context: { ...this.#context(server, false), ...inContext(task) },
      affinity: this.#kept.affinityTo(server), ...(isNotification === undefined ? {} : { isNotification }),
    }, settled);
  }

  /**
   * An adapter that was not there before knows of no subscription.
   * @param missed hears of each resource that may have changed while nobody listened to it, once its changes are heard again.
   */
  subscribeAgain(server: ServerName, hasGap: boolean, missed: (uri: string) => void): void {
    if (this.#host.callGate?.problemOf(this.#port.facts, server, undefined) !== undefined) return;
    for (const [of, uri] of this.#kept.subscriptions) {
      if (of !== server) continue;
      const exchange = this.sendOwn({ method: 'resources/subscribe', server, params: { uri }, subject: ['resource', uri] }, ({ kind }) => {
        if (kind !== 'result') return;
        // The client unsubscribed meanwhile, and the server may have heard of that first.
        if (!this.#kept.isSubscribed(server, uri)) this.#kept.endSubscription(server, uri);
        else if (this.#kept.takers.note(server, uri, exchange.sentTo) || hasGap) missed(uri);
      });
    }
  }

  /** Tells every server that was reached. */
  tellServers(command: ControlCommand): void {
    for (const server of this.#kept.contacted) this.#host.bus.publish(subjects.backendControl(server), command);
  }

  #context(server: ServerName, wantsProgress: boolean): Omit<ExchangeContext, 'maxTimeMs'> {
    const { caller, asking, key, standsAlone } = this.#port;
    return { principal: caller.principal, ...this.#host.whoFor(server, asking), session: key, standsAlone, ...(standsAlone ? clientOf(caller) : {}), capabilities: this.#port.capabilities(), logLevel: this.#port.logLevel(), wantsProgress };
  }

  /** Fetching a task's result takes as long as the task. */
  #limits({ method, own }: ForwardedCall<Stream>, server: ServerName, tool: string | undefined): TimeLimits {
    const usual = this.#host.timeLimits(server, tool);
    const limits = method === 'tasks/result' ? { ...usual, callMs: usual.taskMs, maxMs: usual.taskMs } : usual;
    return own === undefined ? limits : { ...limits, own: { limitMs: own.limitMs, leftMs: Math.max(1, own.beganAt + own.limitMs - performance.now()) } };
  }
}
