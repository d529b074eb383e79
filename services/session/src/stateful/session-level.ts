/** The log level that the client of one session wants, which is sent to the servers that it uses. */
import { subjects } from '@omnibus/bus';
import type { SessionKey } from '@omnibus/protocol';
import type { Carrier } from '../call/carry.ts';
import type { KeptAtServers } from '../call/kept-at-servers.ts';
import { ClientLogLevel } from '../dialect/legacy/log-level.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionHost } from './session-host.ts';

interface LevelParts {
  readonly key: SessionKey;
  readonly host: Pick<SessionHost, 'bus'>;
  readonly kept: KeptAtServers;
  /** It is created later than the level. */
  readonly carrier: () => Carrier<PostStream>;
  readonly changed: () => void;
}

export function levelOf({ key, host, kept, carrier, changed }: LevelParts): ClientLogLevel {
  return new ClientLogLevel({
    ask: (server, params, settled) => {
      kept.contacted.add(server);
      carrier().sendOwn(
        { method: 'logging/setLevel', server, params, subject: ['request', 'logging/setLevel'] },
        settled,
      );
    },
    tell: (server, wanted) => {
      kept.contacted.add(server);
      host.bus.publish(subjects.backendControl(server), { kind: 'log-level', session: key, level: wanted });
    },
    changed,
  });
}
