/** Audit records of acts of administrators, and of refused ones. */
import type { IncomingMessage } from 'node:http';
import type { Audit, Outcome } from '@omnibus/audit';
import type { Administrator } from './roles.ts';

/** Details of one act for people, without secrets. */
export type ActDetails = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

interface ActRecord {
  readonly outcome: Outcome;
  readonly details?: ActDetails;
}

/** @param by undefined for an anonymous caller. */
export function recordAct(
  audit: Audit | undefined,
  by: Pick<Administrator, 'name' | 'facts'> | undefined,
  { socket }: IncomingMessage,
  act: string,
  { outcome, details = {} }: ActRecord,
): void {
  const { principal, issuer, subject, tenant, actors, client, key } = by?.facts ?? {};
  audit?.record({
    name: `admin.${act}`,
    weight: 'always',
    outcome,
    who: { principal, issuer, subject, tenant, actors, client, key, address: socket.remoteAddress },
    more: { ...(by === undefined || by.facts !== undefined ? {} : { by: by.name }), ...details },
  });
}
