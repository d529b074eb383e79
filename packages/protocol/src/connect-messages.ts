/** What edges and backend workers say to each other while a user signs in for a server: the edge has the pages, the backend the secrets. */
import type { Who } from './exchange.ts';
import type { Principal, ServerName } from './ids.ts';

/** The tool that says where users of a server sign in. */
export const signInName = 'connect';

export type ConnectCommand =
  /** What is a ticket about? */
  | { readonly kind: 'look'; readonly ticket: string }
  /**
   * The user whose ticket it is goes on.
   * @property browser a secret that his browser keeps meanwhile.
   * @property isProven the browser has shown whose it is; else what it brings is kept aside until the caller has said a code that it is shown.
   */
  | { readonly kind: 'begin'; readonly ticket: string; readonly principal: Principal; readonly browser: string; readonly isProven: boolean }
  /** The issuer has sent him back. @property query of the address he came back to. */
  | { readonly kind: 'finish'; readonly browser: string; readonly query: string }
  /** What users have connected: of one of them, or of all. */
  | { readonly kind: 'list'; readonly principal?: Principal }
  /** Ends what a user has connected, here and at its issuer. */
  | { readonly kind: 'revoke'; readonly server: ServerName; readonly principal: Principal };

/** What a user has connected to a server, less what is secret. */
export interface ConnectionRow {
  readonly server: ServerName;
  readonly host: string;
  readonly principal: Principal;
  /** Whose it is, for people; left out where nobody need be known. */
  readonly owner?: string;
  readonly issuer: string;
  readonly scope?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** `signed-out`: its tokens were refused, and the user is asked to sign in again. */
  readonly state: 'connected' | 'signed-out';
}

export type ConnectReply =
  /** @property host of the server. @property who is asked, where that was proven. */
  | { readonly kind: 'ticket'; readonly server: ServerName; readonly host: string; readonly principal: Principal; readonly who?: Who }
  | { readonly kind: 'leave'; readonly address: string }
  /** @property code that the caller has to say before it is taken. */
  | { readonly kind: 'done'; readonly server: ServerName; readonly code?: string }
  /** Used, over, or never there. */
  | { readonly kind: 'gone' }
  /** @property problem for the user. */
  | { readonly kind: 'failed'; readonly problem: string }
  /** @property total of how many these are the first. */
  | { readonly kind: 'connections'; readonly connections: readonly ConnectionRow[]; readonly total: number }
  /** @property isRevoked whether the issuer has taken the tokens back; undefined where it has no address for that. */
  | { readonly kind: 'revoked'; readonly isRevoked?: boolean };
