/** The proven identity of a caller: one person is the same principal, however often the token changes. */
import { hash } from 'node:crypto';
import type { Facts, GatewayFault, Principal, Subject } from '@omnibus/protocol';

export type { Facts, Subject } from '@omnibus/protocol';

/** The proven facts, or why they were not accepted. */
export type Verdict = Facts | { readonly fault: GatewayFault };

/** Characters of a principal's key: 192 bits of the digest, for which no attacker finds a second name. */
const keyCharacters = 32;

/**
 * The key of a principal, which can be used in subjects and keys. Each part is hashed with its length, so that no two names give the same text. An agent
 * that acts for a user is a separate principal.
 * @param record the id of the user's record, where a name may pass from one user to another.
 */
export function principalOf(
  { issuer, subject }: Subject,
  tenant?: string,
  actors: readonly Subject[] = [],
  record?: string,
): Principal {
  const parts = [
    tenant ?? '',
    issuer,
    subject,
    ...actors.flatMap((actor) => [actor.issuer, actor.subject]),
    ...(record === undefined ? [] : [record]),
  ];
  return `p_${hash('sha256', parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join(''), 'base64url').slice(0, keyCharacters)}` as Principal;
}

/** The facts of a caller without a token: an API key, a certificate, a proxy or a cluster names it, and no scopes bind it. */
export function factsWithoutToken(
  { issuer, subject }: Pick<Facts, 'issuer' | 'subject'>,
  { tenant, groups, expiresAt, key }: Partial<Facts> & Pick<Facts, 'groups'>,
): Facts {
  return {
    issuer,
    subject,
    principal: principalOf({ issuer, subject }, tenant),
    tenant,
    actors: [],
    groups,
    scopes: [],
    isUnscoped: true,
    client: undefined,
    expiresAt,
    key,
  };
}
