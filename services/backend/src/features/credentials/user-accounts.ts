import type { Challenge, HeaderSource, TokensChange } from '@omnibus/credentials';
import type { ExchangeContext, Principal } from '@omnibus/protocol';

/** The credentials of each user of a server. */
export interface UserAccounts {
  /** The credentials of shared connections. */
  readonly base: HeaderSource;
  /** Whether each user has its own connections and lists. */
  readonly areSeveral: boolean;
  /** Whether the server demands credentials over the shared connection. */
  readonly wantsSignIn: boolean;
  /** The credentials of one user; `wanted` is set while there are none that the server accepts. */
  of(principal: Principal): HeaderSource & { readonly wanted: Challenge | undefined };
  /** Called when a user's stored records have changed. */
  changed(principal: Principal): Promise<TokensChange>;
  /** Called with each call, and with each reading of a user's lists. */
  met?(context: Pick<ExchangeContext, 'principal' | 'who'>): void;
}
