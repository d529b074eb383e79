import type { ServerFeature, ServerParts } from '../../feature.ts';
import { levelSteps, LogLevels } from './log-levels.ts';

/** Sets the log levels of the server. */
export function logLevels({ connections, catalog, tell }: ServerParts): ServerFeature {
  const levels = new LogLevels({ connections, hasLogging: () => 'logging' in catalog.record.capabilities, tell });
  return {
    name: 'log-levels',
    step: levelSteps(levels),
    controls: { 'log-level': ({ session, level }) => levels.set(session, level) },
    get sessions() {
      return levels.sessions;
    },
    greeted: (connection, { capabilities }, ask) =>
      'logging' in capabilities ? levels.greeted(connection, ask) : undefined,
    opened: (connection) => levels.opened(connection),
    forgetSession: (session) => levels.remove(session),
  };
}
