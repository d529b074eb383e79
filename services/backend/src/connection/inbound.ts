/**
 * Receives the messages of one connection and finds out whom each concerns. Everything that servers say comes through here, so this is where labels of guardrails
 * are taken out of it, which are the gateway's own words.
 */
import {
  classify,
  fault,
  isCustomNotification,
  isObject,
  withoutLabels,
  type Classified,
  type ExchangeOutcome,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { saysSessionGone } from '../transport/server-words.ts';
import type { Complaints } from './complaints.ts';
import type { ConnectionObserver } from './connection-observer.ts';
import type { PendingRequest, PendingRequests } from './pending-requests.ts';
import { readProgress } from './progress.ts';
import type { Questions } from './questions.ts';

export interface InboundOptions {
  readonly server: ServerName;
  readonly metrics: Metrics;
  readonly observer: ConnectionObserver;
  readonly pending: PendingRequests;
  readonly questions: Questions;
  readonly complaints: Complaints;
  /** The server has answered a request. */
  readonly answered: () => void;
  /** @param isDoubtful whether the failure sounds as if the server did not know our session any more. */
  readonly failed: (id: JsonRpcId, outcome: ExchangeOutcome, isDoubtful: boolean) => void;
  /** The server has confirmed what it will announce. */
  readonly acknowledged: (params: JsonObject | undefined) => void;
  /** The only session that can have caused messages of the server outside of requests. */
  readonly onlyUser: () => SessionKey | undefined;
}

export class Inbound {
  readonly #options: InboundOptions;

  constructor(options: InboundOptions) {
    this.#options = options;
  }

  /** @param origin the request whose response stream carried the message; undefined where the wire does not tell. */
  receive(value: unknown, origin: JsonRpcId | undefined): void {
    if (Array.isArray(value)) for (const item of value) this.#receiveOne(item, origin);
    else this.#receiveOne(value, origin);
  }

  #receiveOne(value: unknown, origin: JsonRpcId | undefined): void {
    const { pending, questions, answered, failed } = this.#options;
    const classified = classify(value);
    switch (classified.kind) {
      case 'response': {
        const { id, result, error } = classified.message;
        if (id === undefined) return;
        answered();
        if (result !== undefined) pending.settle(id, { kind: 'result', result: withoutLabels(result) });
        else
          failed(
            id,
            { kind: 'error', error: withoutLabels(error as JsonRpcErrorObject) },
            saysSessionGone((error as JsonRpcErrorObject).message),
          );
        return;
      }
      case 'notification':
        this.#hearNotification(
          classified.message.method,
          classified.message.params === undefined ? undefined : withoutLabels(classified.message.params),
          origin,
        );
        return;
      case 'request':
        questions.hear(
          classified.message.params === undefined
            ? classified.message
            : { ...classified.message, params: withoutLabels(classified.message.params) },
          origin === undefined ? undefined : (pending.find(origin)?.reply ?? null),
        );
        return;
      case 'invalid':
        this.#receiveInvalid(classified);
    }
  }

  /** The valid id of an invalid message still shows which request it was to answer. */
  #receiveInvalid({ id, problem, meant }: Extract<Classified, { kind: 'invalid' }>): void {
    const { server, pending, complaints } = this.#options;
    const isQuestion =
      meant === 'question' || (meant === 'either' && (id === undefined || pending.find(id) === undefined));
    complaints.note('invalid', problem, isQuestion ? { id, reason: 'message.invalid' } : undefined);
    if (!isQuestion && id !== undefined)
      pending.settle(id, {
        kind: 'fault',
        fault: fault('upstream.invalid', `server "${server}" sent an invalid answer: ${problem}`, { server }),
      });
  }

  #hearNotification(method: string, params: JsonObject | undefined, origin: JsonRpcId | undefined): void {
    const { pending, questions, observer, metrics, acknowledged, onlyUser } = this.#options;
    switch (method) {
      case 'notifications/progress': {
        const progress = readProgress(params);
        const reporting = typeof progress?.token === 'number' ? pending.find(progress.token) : undefined;
        if (reporting === undefined && progress !== undefined && observer.strayProgress(progress)) return;
        if (progress === undefined || reporting === undefined) metrics.dropped('upstream_late');
        else reporting.reply.progress(progress);
        return;
      }
      case 'notifications/message': {
        const caller = this.#callerOf(origin);
        if (caller !== undefined && isObject(params)) caller.reply.log(params);
        else observer.notification(method, params, onlyUser());
        return;
      }
      case 'notifications/cancelled': {
        const reason = params?.['reason'];
        questions.withdraw(
          params?.['requestId'] as JsonRpcId,
          typeof reason === 'string' ? reason : 'the server withdrew its request',
        );
        return;
      }
      case 'notifications/subscriptions/acknowledged':
        acknowledged(params);
        return;
      default: {
        const caller = isCustomNotification(method) ? this.#callerOf(origin) : undefined;
        // Requests of the gateway's own have nobody to notify.
        if (caller?.reply.session !== undefined) caller.reply.notification(method, params);
        else observer.notification(method, params, onlyUser());
      }
    }
  }

  /** The request a message belongs to: the one whose stream carried it, else the only one in flight if a single session uses the connection, else none. */
  #callerOf(origin: JsonRpcId | undefined): PendingRequest | undefined {
    const { pending, onlyUser } = this.#options;
    if (origin !== undefined) return pending.find(origin);
    const user = onlyUser();
    return user === undefined ? undefined : pending.onlyOf(user);
  }
}
