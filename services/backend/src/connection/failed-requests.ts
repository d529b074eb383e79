/**
 * What happens to a request that could not be sent, was lost, or was answered as if the server no longer knew the gateway's session.
 *
 * Invariant C3: a request is sent a second time only when a 404 on our session proves that the first was not executed. Other signs of a lost session end
 * the call that met them, and a new session is opened for the next call (`session-renewal.ts`).
 */
import {
  errorTable,
  isCustomMethod,
  printable,
  type ExchangeOutcome,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type ServerName,
} from '@omnibus/protocol';
import type { RequestFailure, Transport } from '../transport/transport.ts';
import type { Circuit } from './circuit.ts';
import type { PendingRequest, PendingRequests } from './pending-requests.ts';
import { describeFailure, isAboutRequest } from './request-failure.ts';
import type { SessionRenewal } from './session-renewal.ts';

export interface FailedRequestsOptions {
  readonly server: ServerName;
  readonly pending: PendingRequests;
  readonly circuit: Circuit;
  readonly renewal: SessionRenewal;
  readonly isReady: () => boolean;
  /** The transport that is open. */
  readonly transport: () => Transport | undefined;
  /** Pings the server, within the time that the call which raised the doubt may wait. */
  readonly ping: () => Promise<ExchangeOutcome>;
  /** Opens a new session. */
  readonly renew: () => void;
  /** Opens the circuit of an unreachable server; running calls continue. */
  readonly suspend: (problem: string) => void;
  readonly sendAgain: (id: number, pending: PendingRequest) => void;
}

export class FailedRequests {
  readonly #options: FailedRequestsOptions;

  constructor(options: FailedRequestsOptions) {
    this.#options = options;
  }

  /** @param isCurrent false when the failure comes from a transport that was replaced meanwhile. */
  // oxlint-disable-next-line complexity -- a table: one branch for each kind of failure
  failed(id: JsonRpcId, failure: RequestFailure, isCurrent: boolean): void {
    const { server, pending: requests, circuit, renewal, isReady, suspend } = this.#options;
    const pending = requests.find(id);
    if (pending === undefined) return;
    if (
      failure.kind === 'session-gone' &&
      pending.state === 'sent' &&
      pending.method !== 'initialize' &&
      pending.dialect.renewsSession
    ) {
      const needsNew = isCurrent && failure.hasNewer !== true;
      if (!needsNew || !isReady() || renewal.take()) {
        this.#holdForNewSession(id as number, pending, needsNew);
        return;
      }
    }
    if (failure.kind === 'refused' && failure.error !== undefined && pending.dialect.refusesInBody) {
      circuit.isWell();
      requests.settle(id, { kind: 'error', error: failure.error });
      return;
    }
    // A server's own error is passed on whole, whatever its HTTP status; the status is judged separately.
    const error =
      failure.kind === 'refused'
        ? failure.isAnswer === true
          ? failure.error
          : this.#unknownMethod(pending.method, failure.httpStatus)
        : undefined;
    const outcome: ExchangeOutcome =
      error === undefined ? { kind: 'fault', fault: describeFailure(failure, server) } : { kind: 'error', error };
    this.settle(id, outcome, isCurrent && failure.kind === 'refused' && failure.doubtsSession === true);
    // Each request carries credentials: accepted requests continue, although the server refuses others meanwhile.
    if (!isReady() || (isAboutCredentials(failure) && requests.hasSentCalls)) return;
    if (failure.kind === 'not-sent') suspend(failure.problem);
    // An answer with the request's own id shows that the server works, whatever the status says.
    else if (failure.kind === 'refused' && (failure.isAnswer === true || isAboutRequest(failure.httpStatus)))
      circuit.isWell();
    else circuit.failed(failure.problem);
  }

  /**
   * Answers a request.
   * @param isDoubtful whether the failure may mean that the session is lost. Then a new session is being opened by the time the request is answered, so
   * that the next call finds it.
   */
  settle(id: JsonRpcId, outcome: ExchangeOutcome, isDoubtful: boolean): void {
    const { pending: requests, renewal, isReady, transport, ping, renew } = this.#options;
    const pending = isDoubtful ? requests.find(id) : undefined;
    if (pending === undefined || pending.method === 'ping' || !pending.dialect.renewsSession || !isReady()) {
      requests.settle(id, outcome);
      return;
    }
    const current = transport();
    const decide = (isLost: boolean): void => {
      try {
        if (isLost && transport() === current && isReady() && renewal.take()) renew();
      } finally {
        if (requests.find(id) === pending) requests.settle(id, outcome);
      }
    };
    void renewal.check(ping).then(decide, () => decide(false));
  }

  /** Some servers refuse a method that is in no revision with an HTTP status and a page. */
  #unknownMethod(method: string, httpStatus: number): JsonRpcErrorObject | undefined {
    if (!isCustomMethod(method) || !isAboutRequest(httpStatus)) return undefined;
    return {
      code: errorTable['method.unknown'].code,
      message: `server "${this.#options.server}" does not take the method ${JSON.stringify(printable(method, 200))} (HTTP ${httpStatus})`,
    };
  }

  /** @param needsNew whether no new session is open yet. */
  #holdForNewSession(id: number, pending: PendingRequest, needsNew: boolean): void {
    const { isReady, renew, sendAgain } = this.#options;
    pending.state = 'held';
    if (!isReady()) return;
    if (needsNew) renew();
    else sendAgain(id, pending); // C3
  }
}

/** Whether there were no credentials for the request, or the server has refused them. */
function isAboutCredentials(failure: RequestFailure): boolean {
  return failure.kind === 'not-sent'
    ? failure.hadNoCredentials === true
    : failure.kind === 'refused' && (failure.httpStatus === 401 || failure.httpStatus === 403);
}
