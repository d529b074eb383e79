/** Messages by which a backend worker gets tokens for a server in a caller's name, from the edge with the caller's token. That token never leaves the edge. */
import { hash } from 'node:crypto';
import type { Principal, ServerName } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';

export interface CallerTokenAsk {
  readonly server: ServerName;
  readonly principal: Principal;
  /** A public key of the process that asks (JWK, P-256), to which the token is encrypted. */
  readonly key: JsonObject;
  /** The demand of the server in its refusal, as far as it concerns issuers. */
  readonly resourceMetadata?: string;
  readonly scope?: string;
  readonly isProofWanted?: boolean;
  /** The `tokenDigest` of the header that the server has refused: another token is needed. */
  readonly refused?: string;
}

export type CallerTokenReply =
  /** A token that is encrypted to the key of the question (`packages/credentials`, sealed-token.ts). */
  | { readonly kind: 'token'; readonly sealed: string }
  /** @property isPassing whether another attempt may succeed. */
  | { readonly kind: 'failed'; readonly problem: string; readonly isPassing: boolean };

/** Names a token without showing it. @param authorization the header with the token. */
export function tokenDigest(authorization: string): string {
  return hash('sha256', authorization, 'base64url');
}
