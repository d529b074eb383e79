/** How failures of requests are named between processes, and which messages are not handled. */
import { formatProblem, printable, version, type Formats } from '@omnibus/protocol';
import type { BusFault, OnFault } from './bus.ts';
import { decode } from './codec.ts';
import { BusError } from './errors.ts';
import type { Subject } from './subject.ts';

export const failureKinds = ['handler-failed', 'undecodable', 'lost', 'unknown-kind'] as const;
export type FailureKind = (typeof failureKinds)[number];

const meanings: Readonly<Record<FailureKind, string>> = {
  'handler-failed': 'the receiver of the request failed',
  undecodable: 'the receiver of the request could not read it',
  lost: 'the request or its answer did not arrive whole',
  'unknown-kind': 'the receiver of the request does not know requests of its kind',
};

/** A failure in words. @param incident its id in the log of the process that failed. @param more further words. */
export function failureText(kind: FailureKind, incident?: string, more = ''): string {
  return `${meanings[kind]}${more}${incident === undefined ? '' : ` (incident ${incident})`}`;
}

/** The kind of failure that is reported to the requester, for any error with a request or its answer. */
export function failureKind(error: unknown): FailureKind {
  if (!(error instanceof BusError)) return 'handler-failed';
  switch (error.kind) {
    case 'undecodable':
    case 'lost':
    case 'unknown-kind':
      return error.kind;
    case 'payload-too-large':
    case 'overloaded':
      return 'lost';
    case 'no-responders':
    case 'closed':
    case 'revision-conflict':
    case 'timeout':
    case 'refused':
    case 'newer-format':
    case 'handler-failed':
      return 'handler-failed';
  }
}

/**
 * Reads a message of another process. A kind that only a newer version knows is refused like an invalid message: its sender must not wait in vain.
 * @throws {BusError} `undecodable`, `unknown-kind`
 */
export function readRequest(to: Subject<unknown, unknown>, bytes: Uint8Array, onFault: OnFault): unknown {
  const payload = decode(bytes);
  const verdict = to.shapes?.request(payload) ?? 'fits';
  if (verdict === 'foreign') onFault(foreignSign(to.family, payload));
  else if (verdict !== 'fits') throw notFitting(verdict);
  return payload;
}

/** Why a payload is not handled. */
export function notFitting(verdict: 'junk' | 'unknown'): BusError {
  if (verdict === 'junk') return new BusError('undecodable', 'the payload does not have the shape of its subject');
  return new BusError('unknown-kind', `the payload is of a kind that this version (${version}) does not know`);
}

/** The report of a process that speaks another format. Its sign of life is still received, so that processes which watch signs send it nothing. */
export function foreignSign(family: string, sign: unknown): BusFault {
  const { formats } = sign as { readonly formats: Formats };
  return {
    kind: 'format',
    what: formatProblem(
      `a process of version ${printable(formats.version, 32)} on this bus speaks format ${formats.says}`,
    ),
    family,
  };
}
