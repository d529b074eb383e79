/** Carries requests of one client to servers, each as an exchange (`carried-call.ts`), and sends requests of the gateway's own. */
import { subjects } from '@omnibus/bus';
import {
  anonymous,
  exchangeOf,
  repeatableMethods,
  type ControlCommand,
  type ExchangeContext,
  type ExchangeOutcome,
  type ServerName,
} from '@omnibus/protocol';
import { inContext, type TaskAddress } from '../public-ids/task-ids.ts';
import type { CallHost } from './call-host.ts';
import { CarriedCall, type CarrierParts } from './carried-call.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import { Exchange } from './exchange.ts';
import type { OwnRequest, TimeLimits } from './exchange-request.ts';
import type { ForwardingHooks } from './forwarding-hooks.ts';
import type { KeptAtServers } from './kept-at-servers.ts';
import { OpenRequests } from './open-requests.ts';
import type { PublicMessages } from './public-messages.ts';
import type { Destination } from './plan.ts';

export class Carrier<Stream extends CallStream> implements CarrierParts<Stream> {
  readonly open: OpenRequests;
  readonly host: CallHost;
  readonly port: ClientPort<Stream>;
  readonly messages: PublicMessages<Stream>;
  readonly kept: KeptAtServers | undefined;

  /** @param kept as for `Forwarding`. */
  constructor(
    host: CallHost,
    port: ClientPort<Stream>,
    messages: PublicMessages<Stream>,
    hooks: ForwardingHooks,
    kept: KeptAtServers | undefined,
  ) {
    this.open = new OpenRequests(hooks, host.log);
    this.host = host;
    this.port = port;
    this.kept = kept;
    this.messages = messages;
  }

  /**
   * @param settled called once with the outcome; it answers the request.
   * @param cancelled called instead if the request ends without an outcome: its client cancelled it, or the gateway gave it up.
   */
  carry(
    call: ForwardedCall<Stream>,
    to: Destination,
    settled: (outcome: ExchangeOutcome) => void,
    cancelled?: () => void,
  ): void {
    const { server, params, subject, tool, isRepeatable, task } = to;
    const { owner, nextExchangeId } = this.host;
    const usual = this.host.timeLimits(server, tool);
    // The next worker must be able to ask for a request that may be made once only.
    const origin =
      owner === undefined || (isRepeatable ?? repeatableMethods.has(call.method)) ? undefined : call.stream.origin;
    if (this.kept?.contacted.has(server) === false) this.kept.contact(server);
    new CarriedCall(
      this,
      call,
      to,
      { settled, cancelled },
      {
        exchange: origin === undefined ? nextExchangeId() : exchangeOf(origin, call.id),
        server,
        method: call.method,
        params,
        subject,
        limits: call.own === undefined && call.method !== 'tasks/result' ? usual : ownLimits(call, usual),
        context: this.#context(server, call.progressToken !== undefined, task),
        affinity: this.kept?.affinities?.get(server),
        chosen: this.kept?.chosen,
        ...(isRepeatable === undefined ? {} : { isRepeatable }),
        ...(origin === undefined ? {} : { isKept: true, continues: call.continues, turn: call.turn }),
      },
    ).begin();
  }

  /** Sends a request of the gateway's own. @param settled called with its outcome, where that matters. */
  sendOwn(
    { method, server, params, subject, task, isNotification }: OwnRequest,
    settled?: (outcome: ExchangeOutcome) => void,
  ): Exchange {
    return Exchange.start(
      this.host,
      {
        exchange: this.host.nextExchangeId(),
        server,
        method,
        params,
        subject,
        limits: this.host.timeLimits(server, undefined),
        context: this.#context(server, false, task),
        affinity: this.kept?.affinities?.get(server),
        chosen: this.kept?.chosen,
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
    const { kept } = this;
    if (kept === undefined || this.host.barrier.problemOf(this.port.facts, server, undefined, true) !== undefined)
      return;
    for (const [of, uri] of kept.subscriptions) {
      if (of !== server) continue;
      const exchange = this.sendOwn(
        { method: 'resources/subscribe', server, params: { uri }, subject: ['resource', uri] },
        ({ kind }) => {
          if (kind !== 'result') return;
          // The client has unsubscribed meanwhile, and that may have reached the server before this subscription did.
          if (!kept.isSubscribed(server, uri)) kept.endSubscription(server, uri);
          else if (kept.holders.note(server, uri, exchange.sentTo) || hasGap) missed(uri);
        },
      );
    }
  }

  /** Publishes a command to the adapters of every server that was contacted. */
  tellServers(command: ControlCommand): void {
    for (const server of this.kept?.contacted ?? []) this.host.bus.publish(subjects.backendControl(server), command);
  }

  #context(
    server: ServerName,
    wantsProgress: boolean,
    task: TaskAddress | undefined,
  ): Omit<ExchangeContext, 'maxTimeMs'> {
    const { caller, asking, key, dialect, capabilities, logLevel } = this.port;
    return {
      ...dialect.contextOf(caller, key),
      // Only a known caller has credentials of its own.
      ...(asking.principal === anonymous ? undefined : this.host.whoFor(server, asking)),
      capabilities,
      logLevel,
      wantsProgress,
      ...(task === undefined ? {} : inContext(task)),
    };
  }
}

/** Time limits of a call with one of its own, or of a request for a task's result, which takes as long as the task. */
function ownLimits({ method, own }: Pick<ForwardedCall<CallStream>, 'method' | 'own'>, usual: TimeLimits): TimeLimits {
  const limits = method === 'tasks/result' ? { ...usual, callMs: usual.taskMs, maxMs: usual.taskMs } : usual;
  return own === undefined
    ? limits
    : {
        ...limits,
        own: { limitMs: own.limitMs, leftMs: Math.max(1, own.beganAt + own.limitMs - performance.now()) },
      };
}
