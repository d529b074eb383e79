/** Which configurations fit several workers on one machine. */
import { enabledServers, type Config } from '@omnibus/config';

/** @returns why a configuration does not work with several workers on one machine, in words for the operator; undefined if it does. */
export function workersProblem(config: Config): string | undefined {
  if (config.bus !== 'memory')
    return '--workers is for one machine without NATS, and the configuration has `bus`: leave out one of the two. Over NATS, start several processes instead';
  if (config.sessions.store !== undefined)
    return '--workers: sessions of several workers end with the supervisor; take `sessions.store` out of the configuration, or leave out --workers';
  const approved = [...enabledServers(config)].find(([, { definitions }]) => definitions !== 'off')?.[0];
  return approved === undefined
    ? undefined
    : `--workers: the approved definitions of ${approved} would be lost with the supervisor; take \`definitions\` out of the server, or leave out --workers`;
}
