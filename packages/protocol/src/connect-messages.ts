/** What edges and backend workers say to each other while a user signs in for a server: the edge has the pages, the backend the secrets. */
import type { Principal, ServerName } from './ids.ts';

export type ConnectCommand =
  /** What is a ticket about? */
  | { readonly kind: 'look'; readonly ticket: string }
  /** The user whose ticket it is goes on. @property browser a secret that his browser keeps meanwhile. */
  | { readonly kind: 'begin'; readonly ticket: string; readonly principal: Principal; readonly browser: string }
  /** The issuer has sent him back. @property query of the address he came back to. */
  | { readonly kind: 'finish'; readonly browser: string; readonly query: string };

export type ConnectReply =
  /** @property host of the server. */
  | { readonly kind: 'ticket'; readonly server: ServerName; readonly host: string; readonly principal: Principal }
  | { readonly kind: 'leave'; readonly address: string }
  | { readonly kind: 'done'; readonly server: ServerName }
  /** Used, over, or never there. */
  | { readonly kind: 'gone' }
  /** @property problem for the user. */
  | { readonly kind: 'failed'; readonly problem: string };
