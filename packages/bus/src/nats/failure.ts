/** How a failed request is answered over NATS: a reply without a payload whose header says what went wrong. */
import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import { formatProblem, printable, version, type Formats } from '@omnibus/protocol';
import type { BusFault } from '../bus.ts';
import { BusError } from '../errors.ts';

const header = 'Omnibus-Failure';
const kinds = ['handler-failed', 'undecodable', 'lost', 'unknown-kind'] as const;
type FailureKind = (typeof kinds)[number];

const meanings: Readonly<Record<FailureKind, string>> = {
  'handler-failed': 'whoever took the request failed',
  undecodable: 'whoever took the request could not read it',
  lost: 'the request or its answer did not arrive whole',
  'unknown-kind': 'whoever took the request does not know requests of its kind',
};

/** @param incident names the fault in the log of the process that failed. One that does not know what it is asked says its version. */
export function failureReply(kind: FailureKind, incident: string): MsgHdrs {
  const reply = headers();
  reply.set(header, kind === 'unknown-kind' ? `${kind} ${incident} ${version}` : `${kind} ${incident}`);
  return reply;
}

/** The failure that a reply says; undefined for an ordinary one. */
export function failureOf(message: Msg): BusError | undefined {
  const said = message.headers?.get(header);
  if (said === undefined || said === '') return undefined;
  const [kind, incident = '', answering = ''] = said.split(' ');
  const known = kinds.find((each) => each === kind) ?? 'handler-failed';
  const name = /^[0-9a-f]{12}$/.test(incident) ? incident : undefined;
  const versions = known === 'unknown-kind' && /^[0-9A-Za-z.+-]{1,32}$/.test(answering) ? `: it is of version ${answering}, and asked by one of ${version}` : '';
  return new BusError(known, `${meanings[known]}${versions}${name === undefined ? '' : ` (incident ${name})`}`, undefined, name);
}

/** What to tell whoever asked, of anything that went wrong with a request or its answer. */
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

/** Why a payload is not handled. */
export function notFitting(verdict: 'junk' | 'unknown'): BusError {
  if (verdict === 'junk') return new BusError('undecodable', 'the payload does not have the shape of its subject');
  return new BusError('unknown-kind', `the payload is of a kind that this version (${version}) does not know`);
}

/** What is said of a process that speaks another format. Its sign is heard all the same: whoever watches signs sends it nothing. */
export function foreignSign(family: string, sign: unknown): BusFault {
  const { formats } = sign as { readonly formats: Formats };
  return { kind: 'format', what: formatProblem(`a process of version ${printable(formats.version, 32)} on this NATS speaks format ${formats.says}`), family };
}
