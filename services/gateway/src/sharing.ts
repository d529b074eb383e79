/**
 * Who shares a program without knowing it. A stdio server is one program for everybody who declared nothing it could ask for: right for one
 * person's machine, and not where other people connect, since what one of them leaves in the program another may find.
 */
import { enabledServers, type Config } from '@omnibus/config';
import { listensHere } from './exposure.ts';

/** Servers whose one program people share who connect from elsewhere; none while only this machine is listened on. */
function sharedPrograms(config: Config): readonly string[] {
  if (isOnlyThisMachine(config)) return [];
  return [...enabledServers(config)].filter(([, { url, isolation }]) => url === undefined && (isolation === 'auto' || isolation === 'shared')).map(([name]) => name);
}

/** The same in words; undefined where there is nothing to say. */
export function sharingWarning(config: Config): string | undefined {
  const servers = sharedPrograms(config);
  if (servers.length === 0) return undefined;
  const [is, its] = servers.length === 1 ? ['is one program', 'it keeps'] : ['are one program each', 'they keep'];
  const isKnown = config.auth !== undefined && config.auth !== 'none';
  const helps = isKnown ? '"isolation": "principal" (a program for each known caller) or "session"' : '"isolation": "session"';
  return `${servers.join(', ')} ${is} for everybody who connects: what ${its} of one of them, others may reach. Set ${helps} where that matters.`;
}

/** Behind proxies that are trusted, others connect although only this machine is listened on. */
function isOnlyThisMachine(config: Config): boolean {
  const { security } = config;
  const proxies: unknown = 'trustedProxies' in security ? security.trustedProxies : undefined;
  return listensHere(config) && !(Array.isArray(proxies) && proxies.length > 0);
}
