/** Opens the vault, which stores the tokens of users for servers: on the bus for several processes over NATS, in a file for those of one machine. Its keys are never stored in it. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { vaultBuckets, type Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import {
  Envelopes,
  FileStore,
  KeyRing,
  parseVaultKeys,
  Vault,
  type Lost,
  type Resealed,
  type VaultKeys,
  type VaultOperations,
  type VaultStore,
  OwnKeys,
} from '@omnibus/credentials';
import type { Logger, Metrics } from '@omnibus/telemetry';

export interface Vaults extends VaultOperations {
  readonly connections: Vault;
  /** Short-lived records: tickets of sign-ins, and pending sign-ins. */
  readonly passing: Vault;
  /** The records that no key can decrypt. */
  readonly lost: readonly Lost[];
  /** Applies the keys of a changed configuration. */
  apply(config: Config): Promise<void>;
  stop(): void;
}

export interface VaultOptions {
  readonly config: Config;
  readonly baseFolder: string;
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Whether keys that the gateway makes itself are moved to the keychain of its user. */
  readonly usesKeychain?: boolean;
}

/** @throws {Error} in words for the operator. */
export async function openVaults({
  config,
  baseFolder,
  bus,
  log,
  metrics,
  usesKeychain = false,
}: VaultOptions): Promise<Vaults> {
  const file = fileOf(config, baseFolder);
  const own = hasKeys(config) || bus.isDurable ? undefined : new OwnKeys(file);
  const ring = new KeyRing(
    own === undefined ? keysOf(config) : await own.open(usesKeychain && config.vault?.keychain !== false),
    own === undefined ? undefined : () => own.read(),
  );
  if (own?.areInKeychain === true) log.info('the key of the vault is in the keychain of this user');
  const envelopes = new Envelopes(ring);
  const unreadable = unreadableSaid(log);
  const store: VaultStore = bus.isDurable ? await bus.keyValue<string>(vaultBuckets.connections) : new FileStore(file);
  const connections = new Vault(store, envelopes, unreadable);
  const say = (resealed: Resealed): void => sayResealed(resealed, { log, ring, connections });
  const following = await connections.follow({
    resealed: say,
    failed: (error) => log.error({ err: error }, 'the vault could not be encrypted anew'),
  });
  metrics.beforeScrape(() =>
    metrics.upstream.vaultUnreadable(
      connections.lost.filter(({ place }) => place.purpose === 'connection').map(({ place }) => place.server),
    ),
  );
  return {
    connections,
    passing: new Vault(await bus.keyValue<string>(vaultBuckets.passing), envelopes, unreadable),
    report: async () => ({ ...(await connections.survey()), makesKeys: own !== undefined }),
    rotate: (id) =>
      own === undefined || id !== undefined ? turnTo(connections, id ?? ring.newest.id) : own.rotate(ring, connections),
    get lost() {
      return connections.lost;
    },
    async apply(changed) {
      if (own !== undefined || !hasKeys(changed)) return;
      say(await connections.takeKeys(keysOf(changed)));
    },
    stop: () => following.close(),
  };
}

/** Logs once for each missing key that its entries cannot be read. */
function unreadableSaid(log: Logger): (key: string) => void {
  const said = new Set<string>();
  return (key) => {
    if (said.size >= 1_000 || said.has(key)) return;
    said.add(key);
    log.warn(
      { key },
      'the vault does not have the key of a connection: its user has to sign in again, unless the key comes back',
    );
  };
}

interface SayingResealed extends Pick<VaultOptions, 'log'> {
  readonly ring: KeyRing;
  readonly connections: Vault;
}

function sayResealed({ renewed, lost }: Resealed, { log, ring, connections }: SayingResealed): void {
  if (renewed > 0)
    log.info(
      { renewed, key: ring.sealing.id },
      'what users have connected is encrypted under another key of the vault now',
    );
  if (lost > 0)
    log.warn(
      { lost, missing: missingOf(connections.lost) },
      'keys of the vault are missing: what is under them opens for nobody, and its users sign in again, unless the keys come back',
    );
  if (ring.newest.id !== ring.sealing.id)
    log.info(
      { key: ring.newest.id, current: ring.sealing.id },
      'the vault has a new key, which nothing is encrypted under: omnibus vault rotate',
    );
}

async function turnTo(connections: Vault, key: string): Promise<Resealed & { readonly key: string }> {
  return { ...(await connections.rotate(key)), key };
}

export function fileOf({ vault }: Config, baseFolder: string): string {
  return vault?.file === undefined
    ? join(process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'omnibus', 'vault.json')
    : resolve(baseFolder, vault.file);
}

function hasKeys({ vault }: Config): boolean {
  return vault !== undefined && vault.keys.length > 0;
}

function keysOf(config: Config): VaultKeys {
  if (!hasKeys(config))
    throw new Error(
      'several processes keep what users connect on the bus, sealed: set vault.keys to ["2026a:${VAULT_KEY}"], the same for all backend workers; make one with: openssl rand -base64 32',
    );
  return parseVaultKeys(config.vault?.keys ?? []);
}

/** The problems of the keys of a changed configuration. */
export function vaultProblems(config: Config): readonly string[] {
  try {
    if (hasKeys(config)) keysOf(config);
    return [];
  } catch (error) {
    return [`vault.keys: ${(error as Error).message}`];
  }
}

/** Names of the keys that are missing. */
export function missingOf(lost: readonly Lost[]): readonly string[] {
  return [...new Set(lost.flatMap(({ key }) => key ?? []))].toSorted();
}
