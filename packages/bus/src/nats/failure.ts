/** How the failure of a request is reported over NATS: by a reply without a payload, with the kind of failure in a header. */
import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import { version } from '@omnibus/protocol';
import { BusError } from '../errors.ts';
import { failureKinds, failureText, type FailureKind } from '../failure.ts';

const header = 'Omnibus-Failure';

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
  const known = failureKinds.find((each) => each === kind) ?? 'handler-failed';
  const name = /^[0-9a-f]{12}$/.test(incident) ? incident : undefined;
  const versions =
    known === 'unknown-kind' && /^[0-9A-Za-z.+-]{1,32}$/.test(answering)
      ? `: it is of version ${answering}, and asked by one of ${version}`
      : '';
  return new BusError(known, failureText(known, name, versions), undefined, name);
}
