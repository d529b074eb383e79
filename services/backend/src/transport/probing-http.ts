/**
 * The transport to a server of which only the address is known: Streamable HTTP first, and HTTP+SSE when the server refuses the first POST with a 4xx, as a
 * server of 2024-11-05 may (2025-03-26 to 2025-11-25 basic/transports, Backwards Compatibility), or reacts to it as a server does that has no POST there.
 */
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest, Revision } from '@omnibus/protocol';
import { SignInWanted, UnusableStream } from './trouble.ts';
import type { RequestFailure, Transport, TransportObserver } from './transport.ts';

/** The findings about a server, for its next connections. */
export interface HttpVerdict {
  isEventSource: boolean;
  /** Whether it has spoken Streamable HTTP; left out while that is not known. */
  isStreamable?: boolean;
}

type Create = (observer: TransportObserver) => Transport;

/** What servers answer that have no POST at an address beside 4xx: 501 those of libraries for GET alone, 500 those that do not expect it. */
const noSuchPost: ReadonlySet<number> = new Set([500, 501]);

/**
 * Whether a failure may come from a server of the older transport: a refusal, or a page. A server that does not take our credentials does not take them
 * there either, so such a refusal is reported unchanged: 401, and 403 with a challenge. Without one, 403 is also the answer to a form without a token
 * against forgery, but not from a server that has spoken the newer transport.
 */
function mayBeOlder(failure: RequestFailure, { isStreamable }: HttpVerdict): boolean {
  if (failure.kind === 'invalid') return failure.saidNothing === true;
  if (failure.kind !== 'refused' || failure.httpStatus === 401) return false;
  if (failure.httpStatus === 403) return isStreamable !== true && failure.isChallenge !== true;
  return (failure.httpStatus >= 400 && failure.httpStatus < 500) || noSuchPost.has(failure.httpStatus);
}

/** @returns what is reported of a server: the refusal of the newer transport, or what opening the older one has shown beyond it. */
function reportOf(failure: RequestFailure, error: unknown): RequestFailure {
  if (error instanceof SignInWanted) return { kind: 'refused', problem: error.message, httpStatus: 401 };
  return error instanceof UnusableStream ? { ...failure, problem: error.message } : failure;
}

export class ProbingHttpTransport implements Transport {
  readonly #observer: TransportObserver;
  readonly #createEventSource: Create;
  readonly #verdict: HttpVerdict;
  #current: Transport;
  /** The request that opens the session, until it is answered. */
  #opening: JsonRpcRequest | undefined;

  constructor(verdict: HttpVerdict, createStreamable: Create, createEventSource: Create, observer: TransportObserver) {
    this.#verdict = verdict;
    this.#observer = observer;
    this.#createEventSource = createEventSource;
    this.#current = verdict.isEventSource ? createEventSource(observer) : createStreamable(this.#probing());
  }

  get needsNoProbe(): boolean {
    return this.#current.needsNoProbe;
  }

  get closesToCancel(): boolean {
    return this.#current.closesToCancel;
  }

  get keepsOrder(): boolean {
    return this.#current.keepsOrder;
  }

  get takesNamelessErrors(): boolean {
    return this.#current.takesNamelessErrors;
  }

  get hasState(): boolean {
    return this.#current.hasState;
  }

  get found(): Transport {
    return this.#current;
  }

  async open(): Promise<void> {
    try {
      await this.#current.open();
    } catch (error) {
      // The server may have been replaced: the next attempt begins with Streamable HTTP again.
      this.#verdict.isEventSource = false;
      throw error;
    }
  }

  request(message: JsonRpcRequest, headers?: Readonly<Record<string, string>>): void {
    if (this.#opening === undefined && !this.#verdict.isEventSource && message.method === 'initialize')
      this.#opening = message;
    this.#current.request(message, headers);
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    this.#current.send(message, settled);
  }

  abandon(id: JsonRpcId): void {
    this.#current.abandon(id);
  }

  agreed(revision: Revision): void {
    this.#verdict.isStreamable = !this.#verdict.isEventSource;
    this.#current.agreed(revision);
  }

  listen(): void {
    this.#current.listen();
  }

  close(): Promise<void> {
    return this.#current.close();
  }

  #probing(): TransportObserver {
    return {
      ...this.#observer,
      requestFailed: (id, failure) => {
        const opening = this.#opening;
        if (opening?.id === id && mayBeOlder(failure, this.#verdict)) void this.#fallBack(opening, failure);
        else this.#observer.requestFailed(id, failure);
      },
    };
  }

  async #fallBack(opening: JsonRpcRequest, failure: RequestFailure): Promise<void> {
    const streamable = this.#current;
    const eventSource = this.#createEventSource(this.#observer);
    this.#current = eventSource;
    try {
      await eventSource.open();
      this.#verdict.isEventSource = true;
      eventSource.request(opening);
      await streamable.close();
    } catch (error) {
      this.#current = streamable;
      // A server that does not speak 2024-11-05 either is reported with its first refusal, which says more; one that does, or wants a sign-in first, with its problem there.
      this.#observer.requestFailed(opening.id, reportOf(failure, error));
    }
  }
}
