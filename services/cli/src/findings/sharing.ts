/**
 * Finds callers that share a program without knowing it. Each known caller has its own program of a stdio server. Where callers are not authenticated, all who
 * declared no capability that the server could use share one program: fine on one person's machine, but not where other people connect, since one of them
 * may find in the program what another left there.
 */
import { enabledServers, type Config } from '@omnibus/config';
import { listensHere } from './exposure.ts';

/** Servers with one program that people from other machines share; none if the gateway listens on this machine only. */
function sharedPrograms(config: Config, areKnown: boolean): readonly string[] {
  if (isOnlyThisMachine(config)) return [];
  return [...enabledServers(config)]
    .filter(
      ([, { command, url, isolation }]) =>
        command !== undefined && url === undefined && (isolation === 'shared' || (isolation === 'auto' && !areKnown)),
    )
    .map(([name]) => name);
}

/** A warning that names these servers; undefined when there are none. */
export function sharingWarning(config: Config): string | undefined {
  const areKnown = config.auth !== undefined && config.auth !== 'none';
  const servers = sharedPrograms(config, areKnown);
  if (servers.length === 0) return undefined;
  const [is, its] = servers.length === 1 ? ['is one program', 'it keeps'] : ['are one program each', 'they keep'];
  const helps = areKnown
    ? 'Leave out "isolation" (then each known caller has a program) or set it to "session"'
    : 'Set "isolation": "session", or say how callers are known ("auth")';
  return `${servers.join(', ')} ${is} for everybody who connects: what ${its} of one of them, others may reach. ${helps} where that matters.`;
}

/** Through trusted proxies, other machines can connect although the gateway listens on this machine only. */
function isOnlyThisMachine(config: Config): boolean {
  const { security } = config;
  const proxies: unknown = 'trustedProxies' in security ? security.trustedProxies : undefined;
  return listensHere(config) && !(Array.isArray(proxies) && proxies.length > 0);
}
