/** The callers of an edge. The path of a request knows these interfaces only; whether callers are authenticated, and how, is behind them. */
import type { IncomingMessage } from 'node:http';
import type { Config } from '@omnibus/config';
import type { Caller, EndpointName, GatewayFault } from '@omnibus/protocol';
import type { ClientAddresses } from './client-address.ts';

/** The sender of a request that may go on. */
export interface Sender {
  readonly caller: Caller;
  /** The tenant with further endpoints for it; undefined for none. */
  readonly tenant: string | undefined;
  /** The caller of a request without a session. An anonymous one has its address, by which shares are counted. */
  byOrigin(request: IncomingMessage): Caller;
  /** Whether the edge would not admit it any more. */
  isOver(): boolean;
  /**
   * Follows the sender of a request that opens a stream or a connection.
   * @param changed called when the same credentials prove something else. `hasOtherRights`: rules may decide otherwise by it.
   * @param end called once, when the edge would not admit it any more.
   * @returns a function that ends this; undefined for a sender that never changes.
   */
  follow(changed: (caller: Caller, hasOtherRights: boolean) => void, end: () => void): (() => void) | undefined;
}

/** The nonce that the next proof of a client needs (RFC 9449, 9), in a refusal that asks for it. */
export function nonceIn({ data }: GatewayFault): string | undefined {
  const nonce = data?.['dpopNonce'];
  return typeof nonce === 'string' ? nonce : undefined;
}

export type Verdict = Sender | { readonly fault: GatewayFault };

export interface Callers {
  /** Addresses of clients, by which their shares are counted. */
  readonly addresses: ClientAddresses;
  /**
   * Finds the sender of a request before its body is read.
   * @param path of the request, with its query.
   * @param isPage whether it is for a page beside the endpoints, which needs none of their scopes.
   * @returns a promise only if an issuer must be asked.
   */
  admit(request: IncomingMessage, path: string, endpoint: EndpointName, isPage?: boolean): Verdict | Promise<Verdict>;
  /** Why another edge has not proven a caller; undefined if it has, or need not. */
  problemOf(caller: Caller): GatewayFault | undefined;
  /**
   * The value of `WWW-Authenticate` with which a request is refused; undefined where callers need not be known.
   * @param path of the request, with its query.
   */
  challenge(gatewayFault: GatewayFault, path: string): string | undefined;
  /**
   * The metadata document at a path; undefined where there is none.
   * @param isServed whether there is an endpoint of a name.
   * @throws {Error} when the metadata of the authorization server cannot be read.
   */
  documentAt(path: string, isServed: (endpoint: string) => boolean): string | Promise<string> | undefined;
  /** Applies a changed configuration. */
  apply(config: Config): void;
}
