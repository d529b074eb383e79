/**
 * Carries requests of one client to servers, each as an exchange, and passes back the messages that belong to it.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 */
import { subjects } from '@omnibus/bus';
import {
  fault,
  type ControlCommand,
  type ExchangeContext,
  type ExchangeMethod,
  type ExchangeOutcome,
  type JsonObject,
  type ProgressEvent,
  type ServerName,
} from '@omnibus/protocol';
import { inContext, type TaskAddress } from '../public-ids/task-ids.ts';
import type { CallHost } from './call-host.ts';
import { errorOf, traceOf } from './call-span.ts';
import { clientOf } from './client-of.ts';
import type { CallStream, ClientPort, ForwardedCall, Questioner } from './client-port.ts';
import { Exchange } from './exchange.ts';
import type { TimeLimits, Topic } from './exchange-request.ts';
import type { Screen } from './guardrails/screen.ts';
import type { KeptAtServers } from './kept-at-servers.ts';
import { OpenRequest, OpenRequests } from './open-requests.ts';
import type { PublicMessages } from './public-messages.ts';
import type { QuestionRecords } from './question-records.ts';
import type { Destination } from './route.ts';

/** A request that the gateway itself makes on behalf of a client, which receives no message of it. */
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
  readonly #messages: PublicMessages<Stream>;
  readonly #idle: () => void;

  /** @param idle called when no request is open any more. */
  constructor(
    host: CallHost,
    port: ClientPort<Stream>,
    kept: KeptAtServers,
    messages: PublicMessages<Stream>,
    idle: () => void,
  ) {
    this.#host = host;
    this.#port = port;
    this.#kept = kept;
    this.#messages = messages;
    this.#idle = idle;
  }

  /**
   * @param settled called once with the outcome; it answers the request.
   * @param cancelled called instead where the request ends without an outcome: its client cancelled it, or it was given up.
   */
  carry(
    call: ForwardedCall<Stream>,
    to: Destination,
    settled: (outcome: ExchangeOutcome) => void,
    cancelled?: () => void,
  ): void {
    const { server, params, subject, tool, isRepeatable, task } = to;
    const about = task ?? (tool === undefined ? undefined : to);
    const { stream, progressToken, view, method } = call;
    const screen = call.permission?.screen;
    const { nextExchangeId, tracing, metrics, records, reports } = this.#host;
    this.#kept.contact(server);
    const span = tracing?.start(
      'internal',
      {
        method,
        params: method === 'tools/call' ? { name: subject[1] } : params,
        attributes: { 'mcp.session.id': this.#port.key, 'omnibus.server': server },
      },
      stream.trace,
    );
    const since = performance.now();
    const begun = records?.begin(
      this.#port,
      {
        id: call.id,
        method,
        params: call.given,
        trace: span?.traceparent ?? stream.trace,
        permission: call.permission,
      },
      view,
      to,
      since,
    );
    const tag = reports.routed(this.#port, call, to);
    let questions: QuestionRecords | undefined;
    /** Nothing is said to the client any more, whatever is being looked at still. */
    let isOver = false;
    const stop = (reason: string, outcome: ExchangeOutcome | 'cancelled'): void => {
      isOver = true;
      if (begun !== undefined) records?.ended(begun, outcome);
      reports.ended(this.#port, call, to, outcome, { tag, since });
      questions?.ended();
      span?.end('cancelled');
      running.cancel(reason);
      this.#port.askerEnded(asker, reason);
      call.accounting?.cancelled();
      cancelled?.();
    };
    const open = new OpenRequest(
      call.id,
      (reason) => {
        stop(reason, 'cancelled');
        stream.leaveUnanswered(); // S2
      },
      (gatewayFault) => {
        stop(gatewayFault.message, { kind: 'fault', fault: gatewayFault });
        this.#messages.answerFault(stream, call.id, gatewayFault); // S2
      },
      server,
      tool ?? task?.tool,
    );
    const running = new Exchange(
      this.#host,
      {
        exchange: nextExchangeId(),
        server,
        method,
        params,
        subject,
        limits: this.#limits(call, server, tool),
        context: {
          ...this.#context(server, progressToken !== undefined),
          ...inContext(task),
          ...traceOf(span?.traceparent ?? stream.trace),
          ...(tag === undefined ? {} : { tap: tag }),
        },
        affinity: this.#kept.affinityTo(server),
        chosen: this.#chosen,
        ...(isRepeatable === undefined ? {} : { isRepeatable }),
      },
      {
        progress: (event) => {
          if (progressToken === undefined) return;
          const tell = (shown: ProgressEvent): void =>
            this.#messages.tellProgress(progressToken, this.#messages.progress(server, shown, about), stream); // S1
          if (screen === undefined) tell(event);
          else screen.progress(event, unlessOver(tell));
        },
        lost: (outcome) => {
          if (tag !== undefined) reports.tap.tell(tag, 'session', outcome);
          metrics.upstream.lost(server, outcome);
        },
        affinity: (worker) => this.#kept.noteAffinity(server, worker),
        log: (entry) => {
          const tell = (shown: JsonObject): void => {
            const text = this.#messages.log(view, server, this.#messages.mention(server, shown, about));
            if (text !== undefined) stream.send(text);
          };
          if (screen === undefined) tell(entry);
          else screen.said('notifications/message', entry, unlessOver(tell));
        },
        notification: (said, more) => {
          const tell = (shown: JsonObject | undefined): void =>
            stream.send(this.#messages.notification(server, said, shown, about));
          if (screen === undefined) tell(more);
          else screen.said(said, more, unlessOver(tell));
        },
        input: (event) => {
          questions ??= records?.questions(this.#port, server, span?.traceparent ?? stream.trace);
          questions?.asked(event.input, event.method);
          if (tag !== undefined) reports.tap.tell(tag, 'session', 'asked', { asks: event.method });
          const ask = (shown: typeof event): void =>
            this.#port.ask(asker, call, server, {
              ...shown,
              params: this.#messages.question(server, shown.params, about),
            });
          if (screen === undefined) ask(event);
          else {
            asker.asked?.(event);
            screen.question(event, unlessOver(ask), (answer) => running.answerInput(event.input, answer));
          }
        },
        answered:
          records === undefined && tag === undefined
            ? undefined
            : (input, answer) => {
                questions?.answered(input, answer);
                if (tag !== undefined) reports.tap.tell(tag, 'session', 'client-answered');
              },
        inputWithdrawn: (input, reason) => {
          questions?.withdrawn(input);
          if (tag !== undefined) reports.tap.tell(tag, 'session', 'withdrawn');
          const withdraw = (): void => this.#port.inputWithdrawn(asker, input, reason);
          if (screen === undefined) withdraw();
          else screen.after(withdraw);
        },
        settled: (given) => {
          if (screen === undefined) end(given);
          else screen.outcome(given, unlessOver(end));
        },
      },
    );
    const asker: Questioner & Partial<Pick<ReturnType<Screen['asker']>, 'asked'>> =
      screen?.looksAt('requests') === true ? screen.asker(running) : running;
    const unlessOver =
      <Said>(say: (said: Said) => void) =>
      (said: Said): void => {
        if (!isOver) say(said);
      };
    const end = (outcome: ExchangeOutcome): void => {
      this.#port.askerEnded(asker, 'the call has ended');
      this.open.remove(open);
      this.#kept.noteSubscription(method, server, params, outcome, running.sentTo);
      if (outcome.kind === 'fault' && outcome.fault.reason === 'upstream.timeout') metrics.upstream.timedOut(server);
      span?.end(errorOf(outcome));
      settled(outcome);
      questions?.ended();
      if (begun !== undefined) records?.ended(begun, outcome, this.#messages.lastLength);
      reports.ended(this.#port, call, to, outcome, {
        tag,
        since,
        characters: outcome.kind === 'fault' ? 0 : this.#messages.lastLength,
      });
      if (this.open.size === 0) this.#idle();
    };
    this.open.add(open);
    if (begun === undefined || records?.mustConfirm(begun) !== true) running.begin();
    else
      void records
        .confirm(begun)
        .then((isSafe) => (isSafe ? running.begin() : running.end(fault('audit.unavailable'))));
  }

  /** Undefined for a request without a session, which no other goes with. */
  get #chosen(): KeptAtServers['chosen'] | undefined {
    return this.#port.standsAlone ? undefined : this.#kept.chosen;
  }

  /** Sends a request of the gateway's own. @param settled called with its outcome, where that matters. */
  sendOwn(
    { method, server, params, subject, task, isNotification }: OwnRequest,
    settled?: (outcome: ExchangeOutcome) => void,
  ): Exchange {
    return Exchange.start(
      this.#host,
      {
        exchange: this.#host.nextExchangeId(),
        server,
        method,
        params,
        subject,
        limits: this.#host.timeLimits(server, undefined),
        context: { ...this.#context(server, false), ...inContext(task) },
        affinity: this.#kept.affinityTo(server),
        chosen: this.#chosen,
        ...(isNotification === undefined ? {} : { isNotification }),
      },
      settled,
    );
  }

  /**
   * Repeats the client's subscriptions to a server, for adapters that have come since and do not know them.
   * @param hasGap whether notifications may have been lost meanwhile.
   * @param missed called, once the subscription is in place again, with each resource that may have changed while it was not.
   */
  subscribeAgain(server: ServerName, hasGap: boolean, missed: (uri: string) => void): void {
    if (this.#host.callGate?.problemOf(this.#port.facts, server, undefined, true) !== undefined) return;
    for (const [of, uri] of this.#kept.subscriptions) {
      if (of !== server) continue;
      const exchange = this.sendOwn(
        { method: 'resources/subscribe', server, params: { uri }, subject: ['resource', uri] },
        ({ kind }) => {
          if (kind !== 'result') return;
          // The client has unsubscribed meanwhile, and that may have reached the server before this subscription did.
          if (!this.#kept.isSubscribed(server, uri)) this.#kept.endSubscription(server, uri);
          else if (this.#kept.holders.note(server, uri, exchange.sentTo) || hasGap) missed(uri);
        },
      );
    }
  }

  /** Publishes a command to the adapters of every server that was contacted. */
  tellServers(command: ControlCommand): void {
    for (const server of this.#kept.contacted) this.#host.bus.publish(subjects.backendControl(server), command);
  }

  #context(server: ServerName, wantsProgress: boolean): Omit<ExchangeContext, 'maxTimeMs'> {
    const { caller, asking, key, standsAlone } = this.#port;
    return {
      principal: caller.principal,
      ...this.#host.whoFor(server, asking),
      session: key,
      standsAlone,
      ...(standsAlone ? clientOf(caller) : {}),
      capabilities: this.#port.capabilities(),
      logLevel: this.#port.logLevel(),
      wantsProgress,
    };
  }

  /** Time limits of a call. Fetching a task's result takes as long as the task. */
  #limits({ method, own }: ForwardedCall<Stream>, server: ServerName, tool: string | undefined): TimeLimits {
    const usual = this.#host.timeLimits(server, tool);
    const limits = method === 'tasks/result' ? { ...usual, callMs: usual.taskMs, maxMs: usual.taskMs } : usual;
    return own === undefined
      ? limits
      : {
          ...limits,
          own: { limitMs: own.limitMs, leftMs: Math.max(1, own.beganAt + own.limitMs - performance.now()) },
        };
  }
}
