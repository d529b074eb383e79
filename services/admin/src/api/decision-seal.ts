/**
 * Decisions about calls that wait, sent from the process that authenticated the approver to the one that records the decision. Where callers are known, that
 * one accepts only signatures of a process with the sealing key: an edge or a session worker, and no other party on the bus.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { SealingKeys } from '@omnibus/identity';

/** How long a signed decision counts: it is sent at once, and clocks differ by a few seconds. */
const lifeMs = 30_000;

function mac(secret: Buffer, text: string): Buffer {
  return createHmac('sha256', Buffer.from(hkdfSync('sha256', secret, '', 'omnibus approval decision', 32)))
    .update(text)
    .digest();
}

/** @param text a JSON object with the member `at`, milliseconds since 1970. */
export function signDecision([newest]: SealingKeys, text: string): string {
  return mac(newest, text).toString('base64url');
}

/** Whether a text was signed by a process of this gateway a moment ago. */
export function isSigned(keys: SealingKeys, text: string, signature: string, now = Date.now()): boolean {
  const said = Buffer.from(signature, 'base64url');
  if (!keys.some((key) => said.length === 32 && timingSafeEqual(mac(key, text), said))) return false;
  const { at } = JSON.parse(text) as { readonly at?: unknown };
  return typeof at === 'number' && Math.abs(now - at) <= lifeMs;
}
