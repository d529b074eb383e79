/** How a failed request is answered over NATS: a reply without a payload whose header says what went wrong. */
import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';

const header = 'Omnibus-Failure';
const kinds = ['handler-failed', 'undecodable', 'lost'] as const;
type FailureKind = (typeof kinds)[number];

const meanings: Readonly<Record<FailureKind, string>> = {
  'handler-failed': 'whoever took the request failed',
  undecodable: 'whoever took the request could not read it',
  lost: 'the request or its answer did not arrive whole',
};

/** @param incident names the fault in the log of the process that failed. */
export function failureReply(kind: FailureKind, incident: string): MsgHdrs {
  const reply = headers();
  reply.set(header, `${kind} ${incident}`);
  return reply;
}

/** The failure that a reply says; undefined for an ordinary one. */
export function failureOf(message: Msg): BusError | undefined {
  const said = message.headers?.get(header);
  if (said === undefined || said === '') return undefined;
  const [kind, incident = ''] = said.split(' ');
  const known = kinds.find((each) => each === kind) ?? 'handler-failed';
  const name = /^[0-9a-f]{12}$/.test(incident) ? incident : undefined;
  return new BusError(known, `${meanings[known]}${name === undefined ? '' : ` (incident ${name})`}`, undefined, name);
}

/** What to tell whoever asked, of anything that went wrong with a request or its answer. */
export function failureKind(error: unknown): FailureKind {
  if (!(error instanceof BusError)) return 'handler-failed';
  switch (error.kind) {
    case 'undecodable':
    case 'lost':
      return error.kind;
    case 'payload-too-large':
    case 'overloaded':
      return 'lost';
    case 'no-responders':
    case 'closed':
    case 'revision-conflict':
    case 'timeout':
    case 'refused':
    case 'handler-failed':
      return 'handler-failed';
  }
}

/** Why a payload is not handled. */
export function notFitting(verdict: 'junk' | 'unknown'): BusError {
  return new BusError('undecodable', verdict === 'junk' ? 'the payload does not have the shape of its subject' : 'the payload is of a kind that this version does not know');
}
