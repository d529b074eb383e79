/** Messages between edges and backend workers during the sign-in of a user for a server. The edge serves the pages, and the backend keeps the secrets. */
import type { Who } from './exchange.ts';
import type { Principal, ServerName } from './ids.ts';

/** Name of the tool that gives the address of the sign-in for a server. */
export const signInName = 'connect';

/** Key in the `_meta` of a call of that tool in place of another one: the name of that one, which is unknown before the sign-in. No server gets it. */
export const insteadOfKey = 'omnibus.dev/instead-of';

export type ConnectCommand =
  /** Asks for the purpose of a ticket. @property withIssuer whether the page also names the host of the issuer's sign-in. */
  | { readonly kind: 'look'; readonly ticket: string; readonly withIssuer?: boolean }
  /**
   * The user of a ticket begins the sign-in.
   * @property browser a secret that the user's browser keeps as a cookie.
   * @property isProven whether the browser has proven to be the user's; otherwise the tokens are used only after the caller has given the code that the browser shows.
   */
  | {
      readonly kind: 'begin';
      readonly ticket: string;
      readonly principal: Principal;
      readonly browser: string;
      readonly isProven: boolean;
    }
  /**
   * The issuer has redirected the user back.
   * @property state of the redirect's query.
   * @property sealed the query, encrypted for the sign-in that the state names; left out if the state is invented.
   */
  | { readonly kind: 'finish'; readonly browser: string; readonly state: string; readonly sealed?: string }
  /**
   * Lists connections, of one user or of all.
   * @property after server and principal of the last one that is known, with a blank between them; 0.3.0 lists from the first on.
   */
  | { readonly kind: 'list'; readonly principal?: Principal; readonly after?: string }
  /** Revokes a connection of a user, here and at its issuer. */
  | { readonly kind: 'revoke'; readonly server: ServerName; readonly principal: Principal }
  /**
   * Ends all connections of a removed user, here and at the issuers.
   * @property issuer of the user's identity; left out where only the name is known, which then must be that of one user.
   * @property principal of the user, which finds connections that cannot be decrypted, and those of principals that have a connection under the
   * user's name: a sender may not know the id or the tenant in it. Connections of agents of the user are found by the name.
   * @property before limits this to connections from before that time, in milliseconds since 1970, which belong to another user that had the name earlier.
   * @property except the principal of the user that has the name now; its connections stay.
   */
  | {
      readonly kind: 'forget';
      readonly subject: string;
      readonly issuer?: string;
      readonly principal?: Principal;
      readonly before?: number;
      readonly except?: Principal;
    }
  /**
   * The same for a user of a directory. It is a kind of its own, which 0.3.0 ignores: by its `forget`, connections in other tenants would end, and those of other
   * letters would stay.
   * @property tenant limits this to the user of a tenant.
   * @property isAnyCase whether capital and small letters of the subject are the same.
   */
  | {
      readonly kind: 'forget-directed';
      readonly subject: string;
      readonly issuer: string;
      readonly principal: Principal;
      readonly tenant?: string | undefined;
      readonly isAnyCase?: boolean | undefined;
    };

/** A connection of a user to a server, without secrets. */
export interface ConnectionRow {
  readonly server: ServerName;
  readonly host: string;
  readonly principal: Principal;
  /** Name of the user; left out where callers are not authenticated. */
  readonly owner?: string;
  readonly issuer: string;
  readonly scope?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /**
   * `signed-out`: its tokens were refused, and the user must sign in again. `unreadable`: a key of the vault is missing, so little is known of the
   * connection.
   */
  readonly state: 'connected' | 'signed-out' | 'unreadable';
}

export type ConnectReply =
  /**
   * @property host of the server.
   * @property issuer host of the page on which the issuer has its users sign in; left out where it was not asked for, and where it cannot be found out now.
   * @property who proven identity of the user with the ticket, if known.
   */
  | {
      readonly kind: 'ticket';
      readonly server: ServerName;
      readonly host: string;
      readonly issuer?: string;
      readonly principal: Principal;
      readonly who?: Who;
    }
  | { readonly kind: 'leave'; readonly address: string }
  /** @property code that the caller must give before the tokens are used. */
  | { readonly kind: 'done'; readonly server: ServerName; readonly code?: string }
  /** There is no such ticket or sign-in: it was used, has expired, or never existed. */
  | { readonly kind: 'gone' }
  /** @property problem for the user. @property ticket with which the sign-in can be begun again. */
  | { readonly kind: 'failed'; readonly problem: string; readonly ticket?: string }
  /** The first connections. @property total number of all. */
  | { readonly kind: 'connections'; readonly connections: readonly ConnectionRow[]; readonly total: number }
  /** @property isRevoked whether the issuer has revoked the tokens; undefined where it has no revocation endpoint. */
  | { readonly kind: 'revoked'; readonly isRevoked?: boolean; readonly wasUnreadable?: boolean }
  /** @property notRevoked number of those connections that no issuer has revoked. */
  | { readonly kind: 'forgotten'; readonly count: number; readonly notRevoked: number };
