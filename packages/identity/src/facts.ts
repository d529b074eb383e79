/** Who a caller is, once that is proven: the same person is the same principal however often a token changes. */
import { hash } from 'node:crypto';
import type { Facts, GatewayFault, Principal, Subject } from '@omnibus/protocol';

export type { Facts, Subject } from '@omnibus/protocol';

/** Somebody, or why nobody is believed to be there. */
export type Verdict = Facts | { readonly fault: GatewayFault };

/** Of a principal: 192 bits of the digest, which nobody finds a second name for. */
const keyCharacters = 32;

/**
 * The key of a principal, which can stand in subjects and keys. Each part is told with its length, so that no two names have one text.
 * An agent that acts for somebody is not that person, and is somebody of its own.
 */
export function principalOf({ issuer, subject }: Subject, tenant?: string, actors: readonly Subject[] = []): Principal {
  const parts = [tenant ?? '', issuer, subject, ...actors.flatMap((actor) => [actor.issuer, actor.subject])];
  return `p_${hash('sha256', parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join(''), 'base64url').slice(0, keyCharacters)}` as Principal;
}
