/** How the failure of a request is reported over NATS: by a reply without a payload, with the kind of failure in a header. */
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

/** @param incident id of the failure in the log of the process that failed. A receiver that does not know the request names its version. */
export function failureReply(kind: FailureKind, incident: string): MsgHdrs {
  const reply = headers();
  reply.set(header, kind === 'unknown-kind' ? `${kind} ${incident} ${version}` : `${kind} ${incident}`);
  return reply;
}

/** The failure that a reply reports; undefined for an ordinary reply. */
export function failureOf(message: Msg): BusError | undefined {
  const said = message.headers?.get(header);
  if (said === undefined || said === '') return undefined;
  const [kind, incident = '', answering = ''] = said.split(' ');
  const known = kinds.find((each) => each === kind) ?? 'handler-failed';
  const name = /^[0-9a-f]{12}$/.test(incident) ? incident : undefined;
  const versions =
    known === 'unknown-kind' && /^[0-9A-Za-z.+-]{1,32}$/.test(answering)
      ? `: it is of version ${answering}, and asked by one of ${version}`
      : '';
  return new BusError(
    known,
    `${meanings[known]}${versions}${name === undefined ? '' : ` (incident ${name})`}`,
    undefined,
    name,
  );
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
      `a process of version ${printable(formats.version, 32)} on this NATS speaks format ${formats.says}`,
    ),
    family,
  };
}
