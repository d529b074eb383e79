/** Where is kept what users have connected to servers: on the bus for several processes, in a file for one. Its keys are never where it is. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { vaultBuckets, type Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { Envelopes, FileStore, parseVaultKeys, Vault, type VaultStore } from '@omnibus/credentials';
import type { Logger } from '@omnibus/telemetry';

export interface Vaults {
  readonly connections: Vault;
  /** Tickets, and sign-ins on their way. */
  readonly passing: Vault;
}

interface VaultOptions {
  readonly config: Config;
  readonly baseFolder: string;
  readonly bus: Bus;
  readonly log: Logger;
}

/** @throws {Error} in words for the operator. */
export async function openVaults({ config, baseFolder, bus, log }: VaultOptions): Promise<Vaults> {
  const file = fileOf(config, baseFolder);
  const envelopes = new Envelopes(parseVaultKeys(keysOf(config, bus.isShared ? undefined : file)));
  const said = new Set<string>();
  const unreadable = (key: string): void => {
    if (said.size >= 1_000 || said.has(key)) return;
    said.add(key);
    log.warn({ key }, 'what a user has connected is under a key that the vault does not have: he signs in again, unless the key comes back');
  };
  const store: VaultStore = bus.isShared ? await bus.keyValue<string>(vaultBuckets.connections) : new FileStore(file);
  const connections = new Vault(store, envelopes, unreadable);
  const { renewed, lost } = await connections.rotate();
  if (renewed > 0) log.info({ renewed }, 'what users have connected is under the newest key of the vault now');
  if (lost > 0) log.warn({ lost }, 'keys of the vault are missing: what is under them opens for nobody, and its users sign in again, unless the keys come back');
  return { connections, passing: new Vault(await bus.keyValue<string>(vaultBuckets.passing), envelopes, unreadable) };
}

function fileOf({ vault }: Config, baseFolder: string): string {
  return vault?.file === undefined ? join(process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'omnibus', 'vault.json') : resolve(baseFolder, vault.file);
}

/** @param file of a gateway of one process, which makes itself a key beside it where there is none. */
function keysOf({ vault }: Config, file: string | undefined): readonly string[] {
  if (vault !== undefined && vault.keys.length > 0) return vault.keys;
  if (file === undefined) throw new Error('several processes keep what users connect on the bus, sealed: set vault.keys to ["2026a:${VAULT_KEY}"], the same for all backend workers; make one with: openssl rand -base64 32');
  const path = file.replace(/(\.json)?$/, '.key');
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, `own:${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  }
  return readFileSync(path, 'utf8').split('\n').filter((line) => line.trim() !== '');
}
