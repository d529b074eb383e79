/** Starts a gateway with nothing but the servers of a configuration, and looks what became of them. */
import type { Config } from '@omnibus/config';
import type { CatalogRecord } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { startGateway } from './compose.ts';
import { hideEnvironment } from './hide-environment.ts';

/** @returns what each server is, when all of them have been tried once. */
export async function findServers(config: Config, baseFolder: string): Promise<readonly CatalogRecord[]> {
  // Programs are started here too.
  hideEnvironment();
  const log = createLogger({ level: 'silent', format: 'json' });
  const gateway = await startGateway({ config: { ...config, bus: 'memory' }, baseFolder, role: 'backend', isServing: false, log });
  await gateway.settled();
  const records = gateway.records();
  await gateway.stop();
  return records;
}
