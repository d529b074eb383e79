/**
 * Receives the messages of one connection and attributes each. All messages of servers pass here, so this removes forged labels of guardrails,
 * which only the gateway may set.
 */
import {
  classify,
  fault,
  isCustomNotification,
  isObject,
  withoutLabels,
  type Classified,
  type ExchangeOutcome,
  type GatewayFault,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { saysSessionGone } from '../transport/server-words.ts';
import type { TransportObserver } from '../transport/transport.ts';
import type { Circuit } from './circuit.ts';
import type { Complaints } from './complaints.ts';
import type { ConnectionObserver } from './connection-observer.ts';
import type { PendingRequest, PendingRequests } from './pending-requests.ts';
import { readProgress } from './progress.ts';
import type { Questions } from './questions.ts';
import type { Audience, Users } from './users.ts';

export interface InboundOptions {
  readonly server: ServerName;
  readonly metrics: Metrics;
  readonly observer: ConnectionObserver;
  readonly pending: PendingRequests;
  readonly questions: Questions;
  readonly complaints: Complaints;
  readonly circuit: Circuit;
  /** @param isDoubtful whether the failure sounds as if the server did not know our session any more. */
  readonly failed: (id: JsonRpcId, outcome: ExchangeOutcome, isDoubtful: boolean) => void;
  /** The server has confirmed its announcements. */
  readonly acknowledged: (params: JsonObject | undefined) => void;
  /** The session that has the connection alone. */
  readonly owner: SessionKey | undefined;
  readonly users: Pick<Users, 'isAlone' | 'audience'>;
  /** Whether the handshake is over. */
  readonly isReady: () => boolean;
  /** Whether the messages of the server come in the order in which it sent them. */
  readonly keepsOrder: () => boolean;
}

export class Inbound {
  readonly #options: InboundOptions;

  constructor(options: InboundOptions) {
    this.#options = options;
  }

  /**
   * Something was dropped. If it was an answer, the only request that waits has it, and fails. A text may be a log, and the answer may still come: the calls
   * that wait hear of it, and their clients when their time is over.
   */
  dropped: TransportObserver['dropped'] = (kind, problem, question, isAnswer) => {
    const { server, pending, complaints } = this.#options;
    complaints.note(kind, problem, question);
    if (kind !== 'invalid' || question !== undefined) return;
    const only = isAnswer === true && this.isOfOneCaller ? pending.only : undefined;
    if (only === undefined) this.#doubt(problem);
    else pending.settle(only, { kind: 'fault', fault: invalidAnswer(server, this.#describe(problem)) });
  };

  #doubt(problem: string): void {
    if (this.#options.isReady()) this.#options.pending.doubt(this.#describe(problem));
  }

  /** Words that may be of another caller are left out. */
  #describe(problem: string): string {
    const { pending, complaints } = this.#options;
    return complaints.describe(pending.calls.session !== undefined && this.isOfOneCaller ? problem : undefined);
  }

  /** @param origin the request of the response stream that carried the message; undefined where the wire does not tell. */
  readonly receive = (value: unknown, origin: JsonRpcId | undefined): void => {
    if (Array.isArray(value)) {
      for (const item of value) this.receive(item, origin);
      return;
    }
    const { pending, questions, circuit, failed } = this.#options;
    const classified = classify(value);
    switch (classified.kind) {
      case 'response': {
        const { id, result, error } = classified.message;
        if (id === undefined) return;
        if (circuit.faultsInARow > 0) circuit.isWell();
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
  };

  /** The valid id of an invalid message still shows which request it was to answer. */
  #receiveInvalid({ id, problem, meant }: Extract<Classified, { kind: 'invalid' }>): void {
    const { server, pending, complaints } = this.#options;
    const isQuestion =
      meant === 'question' || (meant === 'either' && (id === undefined || pending.find(id) === undefined));
    complaints.note('invalid', problem, isQuestion ? { id, reason: 'message.invalid' } : undefined);
    if (isQuestion) return;
    if (id === undefined) this.#doubt(problem);
    else pending.settle(id, { kind: 'fault', fault: invalidAnswer(server, problem) });
  }

  // oxlint-disable-next-line complexity -- a table: one case for each notification
  #hearNotification(method: string, params: JsonObject | undefined, origin: JsonRpcId | undefined): void {
    const { pending, questions, observer, metrics, acknowledged } = this.#options;
    switch (method) {
      case 'notifications/progress': {
        const progress = readProgress(params);
        const named = typeof progress?.token === 'number' ? pending.find(progress.token) : undefined;
        if (named === undefined && progress !== undefined && observer.strayProgress(progress)) return;
        // A token that is none of these was of a call that has ended, unless the stream tells which call is meant.
        const reporting =
          named ?? (origin !== undefined || progress?.token === undefined ? this.#callerOf(origin) : undefined);
        if (progress === undefined || reporting === undefined) metrics.dropped('upstream_late');
        else reporting.reply.progress(progress);
        return;
      }
      case 'notifications/message': {
        const caller = this.#callerOf(origin);
        if (caller !== undefined && isObject(params)) caller.reply.log(params);
        else observer.notification(method, params, this.#audience());
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
        // Requests of the gateway's own have no client to notify.
        if (caller?.reply.session !== undefined) caller.reply.notification(method, params);
        else observer.notification(method, params, this.#audience());
      }
    }
  }

  /** The request of a message: the one of its stream, else the only call in flight if no other can have caused it, else none. */
  #callerOf(origin: JsonRpcId | undefined): PendingRequest | undefined {
    const { pending, owner, users, keepsOrder } = this.#options;
    if (origin !== undefined) return pending.find(origin);
    const { only } = pending.calls;
    const session = only?.reply.session;
    return session !== undefined && (session === owner || users.isAlone(session, keepsOrder())) ? only : undefined;
  }

  /** Whether the server can speak of one caller alone: no call is in flight, or one, and nothing may be left of another caller's. */
  get isOfOneCaller(): boolean {
    const { pending, owner, users } = this.#options;
    const { only, session } = pending.calls;
    if (session === undefined) return true;
    const made = only?.reply.session;
    return made !== undefined && (made === owner || users.isAlone(made, true));
  }

  /** The sessions that may hear a message that belongs to no request. */
  #audience(): Audience {
    const { pending, owner, users, keepsOrder } = this.#options;
    return owner === undefined
      ? users.audience(pending.calls.session, keepsOrder())
      : { sessions: [owner], isOwn: true };
  }
}

function invalidAnswer(server: ServerName, problem: string): GatewayFault {
  return fault('upstream.invalid', `server "${server}" sent an invalid answer: ${problem}`, { server });
}
