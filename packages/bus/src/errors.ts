import { fault, type GatewayFault } from '@omnibus/protocol';
import { randomBytes } from 'node:crypto';

/**
 * Failures of a bus. Code decides by `kind`; the text is for people. `handler-failed`: the receiver failed while it handled the request, which may have
 * been executed. `lost`: a large message did not arrive completely. `unknown-kind`: the receiver is of a version that does not know the request, and did
 * nothing. `newer-format`: a stored value has a format that this version cannot read. `refused`: the operator's configuration cannot be right.
 */
export type BusErrorKind =
  | 'no-responders'
  | 'closed'
  | 'payload-too-large'
  | 'revision-conflict'
  | 'timeout'
  | 'overloaded'
  | 'undecodable'
  | 'handler-failed'
  | 'lost'
  | 'refused'
  | 'unknown-kind'
  | 'newer-format';

export class BusError extends Error {
  readonly kind: BusErrorKind;
  /** Id of the log line of the process that failed. */
  readonly incident: string | undefined;

  constructor(kind: BusErrorKind, message: string, cause?: unknown, incident?: string) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.kind = kind;
    this.incident = incident;
  }
}

/** Whether a value was not written because another process has changed it. */
export function isConflict(error: unknown): boolean {
  return error instanceof BusError && error.kind === 'revision-conflict';
}

/** Advice when a bucket or stream cannot be opened: the usual cause is a NATS user with the permissions of an older version. */
export function openingAdvice(error: unknown): string {
  return error instanceof BusError && error.kind === 'overloaded'
    ? 'there is no room for it'
    : 'does NATS have the permissions of this version (omnibus nats-permissions)?';
}

/** A new id for one failure, for the log and for the answer. */
export function newIncident(): string {
  return randomBytes(6).toString('hex');
}

/** The fault that a client gets when its request failed inside the gateway; undefined where the caller of the bus must decide. */
export function gatewayFaultOf({ kind, message, incident }: BusError): GatewayFault | undefined {
  switch (kind) {
    case 'handler-failed':
    case 'undecodable':
      return fault('internal.error', undefined, incident === undefined ? undefined : { incident });
    case 'lost':
      return fault('gateway.interrupted');
    case 'unknown-kind':
      return fault('command.unknown', message);
    case 'newer-format':
      return fault('gateway.unavailable', message);
    case 'no-responders':
    case 'closed':
    case 'payload-too-large':
    case 'revision-conflict':
    case 'timeout':
    case 'overloaded':
    case 'refused':
      return undefined;
  }
}
