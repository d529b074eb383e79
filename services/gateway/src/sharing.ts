/**
 * Who shares a program without knowing it. Each known caller has one of his own of a stdio server. Where nobody need be known, everybody who
 * declared nothing it could ask for shares one: right for one person's machine, and not where other people connect, since what one of them
 * leaves in the program another may find.
 */
import { enabledServers, type Config } from '@omnibus/config';
import { listensHere } from './exposure.ts';

/** Servers whose one program people share who connect from elsewhere; none while only this machine is listened on. */
function sharedPrograms(config: Config, areKnown: boolean): readonly string[] {
  if (isOnlyThisMachine(config)) return [];
  return [...enabledServers(config)].filter(([, { url, isolation }]) => url === undefined && (isolation === 'shared' || (isolation === 'auto' && !areKnown))).map(([name]) => name);
}

/** The same in words; undefined where there is nothing to say. */
export function sharingWarning(config: Config): string | undefined {
  const areKnown = config.auth !== undefined && config.auth !== 'none';
  const servers = sharedPrograms(config, areKnown);
  if (servers.length === 0) return undefined;
  const [is, its] = servers.length === 1 ? ['is one program', 'it keeps'] : ['are one program each', 'they keep'];
  const helps = areKnown ? 'Leave out "isolation" (then each known caller has a program) or set it to "session"' : 'Set "isolation": "session", or say how callers are known ("auth")';
  return `${servers.join(', ')} ${is} for everybody who connects: what ${its} of one of them, others may reach. ${helps} where that matters.`;
}

/** Behind proxies that are trusted, others connect although only this machine is listened on. */
function isOnlyThisMachine(config: Config): boolean {
  const { security } = config;
  const proxies: unknown = 'trustedProxies' in security ? security.trustedProxies : undefined;
  return listensHere(config) && !(Array.isArray(proxies) && proxies.length > 0);
}
