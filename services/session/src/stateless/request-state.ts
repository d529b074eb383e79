/** The `requestState` that a client brings back: sealed, for one caller, one endpoint, one request and a limited time (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
import { createHash } from 'node:crypto';
import {
  canonical,
  type Caller,
  type EndpointName,
  type JsonObject,
  type JsonRpcId,
  type Principal,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import type { Sealer } from '../public-ids/sealer.ts';

/** The content of a sealed `requestState`. */
type CallState =
  /**
   * The call is open at a worker. `first`: the id of the request with which it began; left out if no other worker can continue it.
   * `isAtServer`: whether its server has it, and not only the gateway asks its client something.
   */
  | {
      readonly kind: 'parked';
      readonly worker: WorkerId;
      readonly call: SessionKey;
      readonly round: number;
      readonly first?: JsonRpcId;
      readonly isAtServer?: boolean;
    }
  /** The server wants URLs to be visited; then it is called again. */
  | { readonly kind: 'again'; readonly round: number }
  /** The state of a server of this revision, for a known caller: no other caller may bring it. */
  | { readonly kind: 'server'; readonly text: string };

export type ParkedState = Extract<CallState, { readonly kind: 'parked' }>;

export interface SealedState {
  readonly state: CallState;
  readonly principal: Principal;
  readonly digest: string;
  /** Where the call began. */
  readonly endpoint: EndpointName;
  /** Milliseconds since 1970. The worker that holds a parked call decides by its own monotonic clock. */
  readonly expiresAt: number;
}

export class RequestStates {
  readonly #sealer: Sealer;
  readonly #humanMs: () => number;

  /** @param humanMs milliseconds a client must come back. */
  constructor(sealer: Sealer, humanMs: () => number) {
    this.#sealer = sealer;
    this.#humanMs = humanMs;
  }

  seal(state: CallState, { principal, endpoint }: Caller, digest: string): string {
    const sealed: SealedState = { state, principal, endpoint, digest, expiresAt: Date.now() + this.#humanMs() };
    return this.#sealer.seal('request-state', JSON.stringify(sealed));
  }

  /** @returns undefined for a state that was not sealed here. */
  open(requestState: string): SealedState | undefined {
    const text = this.#sealer.open('request-state', requestState);
    return text === undefined ? undefined : (JSON.parse(text) as SealedState);
  }
}

/** The identity of a request that comes back: all but its id, metadata and answers. */
export function digestOf(
  method: string,
  { _meta, inputResponses: _responses, requestState: _state, ...params }: JsonObject,
): string {
  return createHash('sha256')
    .update(canonical([method, params]))
    .digest('base64url');
}
