/** How a server tells its callers apart. Connections and their pool know these interfaces only; features implement them. */
import type { HeaderSource } from '@omnibus/credentials';
import type { ExchangeContext, GatewayFault } from '@omnibus/protocol';

/** What a connection shows a server of its caller. */
export interface Identity {
  /** All configured headers, if some name the caller. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The credentials, asked for at each opening. */
  readonly credentials: () => HeaderSource | undefined;
  /** Part of the connection's key: the server may be told other facts about the same caller later. */
  readonly mark: string;
}

/** An identity for each known caller, so that a connection of one caller serves no other (I4). */
export interface OwnIdentities {
  /**
   * Called with each request that takes a connection.
   * @returns the caller's identity, or the reason why the server cannot be told who calls.
   */
  of(context: ExchangeContext): Identity | { readonly fault: GatewayFault };
}

export interface ConnectionIdentities {
  /** The credentials of shared connections. */
  readonly base: HeaderSource | undefined;
  /** Undefined if all callers are the same to the server. */
  readonly own: OwnIdentities | undefined;
  /** Whether the server demands a sign-in over the shared connection. */
  readonly wantsSignIn: boolean;
}
