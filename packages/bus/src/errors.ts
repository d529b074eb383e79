import { fault, type GatewayFault } from '@omnibus/protocol';
import { randomBytes } from 'node:crypto';

/**
 * What can go wrong on a bus. `kind` decides; the text is for a person. `handler-failed`: whoever took the request failed over
 * it, so it may have been done. `lost`: a large message did not arrive whole. `unknown-kind`: whoever took the request is of a version that
 * does not know it, and did nothing. `newer-format`: what is stored was written in a format that is not read here. `refused`: the operator's configuration cannot be right.
 */
export type BusErrorKind = 'no-responders' | 'closed' | 'payload-too-large' | 'revision-conflict' | 'timeout' | 'overloaded' | 'undecodable' | 'handler-failed' | 'lost' | 'refused' | 'unknown-kind' | 'newer-format';

export class BusError extends Error {
  readonly kind: BusErrorKind;
  /** Finds the log line of the process that failed. */
  readonly incident: string | undefined;

  constructor(kind: BusErrorKind, message: string, cause?: unknown, incident?: string) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.kind = kind;
    this.incident = incident;
  }
}

/** A name for one fault, in the log and in the answer. */
export function newIncident(): string {
  return randomBytes(6).toString('hex');
}

/** What a client is answered when its request failed inside the gateway; undefined where it depends on who was asked. */
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
