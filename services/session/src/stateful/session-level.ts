/** The log level that the client of one session wants, which is sent to the servers that it uses. */
import { subjects } from '@omnibus/bus';
import type { SessionKey } from '@omnibus/protocol';
import type { Forwarding } from '../call/forward.ts';
import { ClientLogLevel } from '../dialect/legacy/log-level.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionHost } from './session-host.ts';

/** @param forwarding gives the session's forwarding, which is made later. */
export function levelOf(
  key: SessionKey,
  host: Pick<SessionHost, 'bus'>,
  forwarding: () => Forwarding<PostStream>,
  changed: () => void,
): ClientLogLevel {
  return new ClientLogLevel({
    ask: (server, params, settled) => {
      forwarding().kept.contacted.add(server);
      forwarding().carrier.sendOwn(
        { method: 'logging/setLevel', server, params, subject: ['request', 'logging/setLevel'] },
        settled,
      );
    },
    tell: (server, wanted) => {
      forwarding().kept.contacted.add(server);
      host.bus.publish(subjects.backendControl(server), { kind: 'log-level', session: key, level: wanted });
    },
    changed,
  });
}
