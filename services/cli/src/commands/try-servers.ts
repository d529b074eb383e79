/** Starts a gateway with only the servers of a configuration, and tells which of them could be connected to. */
import type { Config } from '@omnibus/config';
import type { CatalogRecord } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import type { Gateway, StartGateway } from '../gateway.ts';
import { hideEnvironment } from '../serving/hide-environment.ts';

/** @returns the state of each server, after all of them have been tried once. */
export async function findServers(
  config: Config,
  baseFolder: string,
  start: StartGateway,
): Promise<readonly CatalogRecord[]> {
  const gateway = await tryServers(config, baseFolder, start);
  const records = gateway.records();
  await gateway.stop();
  return records;
}

/** @returns a gateway that serves no client, after each server was tried once. It must be stopped. */
export async function tryServers(config: Config, baseFolder: string, start: StartGateway): Promise<Gateway> {
  // Programs are started here as well, and must not be able to read the secrets in the environment.
  hideEnvironment();
  const log = createLogger({ level: 'silent', format: 'json' });
  const gateway = await start({
    config: { ...config, bus: 'memory' },
    baseFolder,
    role: 'backend',
    isServing: false,
    log,
  });
  await gateway.settled();
  return gateway;
}
