/** Opens the bus of the configuration, with the login of this process. */
import { resolve } from 'node:path';
import {
  Blocks,
  examineNats,
  findLoginProblem,
  inboxOf,
  FolderStore,
  MemoryBus,
  openingAdvice,
  openNatsBus,
  setUpNats,
  type Bus,
  type LedgerDefinition,
  type NatsExamination,
  type NatsLogin,
  type OnFault,
  type SetUpOptions,
  type SetUpStep,
} from '@omnibus/bus';
import type { Config, GivenRole } from '@omnibus/config';
import type { Logger } from '@omnibus/telemetry';

interface BusOptions {
  /** Names the process in NATS' own monitoring, and the prefix of the subjects that it receives replies on. */
  readonly role: GivenRole;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  readonly onFault: OnFault;
  /** Whether clients connect to this process: only then a gateway of one process uses `sessions.store`. */
  readonly isServing?: boolean;
  /** Called now and then while NATS cannot be reached, with the reason. */
  readonly waiting?: (problem: string) => void;
  /** Default: it waits without limit. */
  readonly connectTimeoutMs?: number;
}

/** @throws {BusError} in words for the operator, without a secret. */
export function openBus(
  config: Config,
  { role, baseFolder, onFault, isServing = false, waiting = () => undefined, connectTimeoutMs = Infinity }: BusOptions,
): Promise<Bus> {
  if (config.bus === 'memory') return openMemoryBus(isServing ? storeOf(config, baseFolder) : undefined, onFault);
  const { prefix, domain, region } = config.nats;
  return openNatsBus(
    {
      servers: config.bus,
      place: { prefix, domain, region },
      login: loginOf(config, baseFolder),
      clientName: `omnibus-${role}`,
      inboxPrefix: inboxOf(role),
      connectTimeoutMs,
      waiting,
    },
    onFault,
  );
}

async function openMemoryBus(folder: string | undefined, onFault: OnFault): Promise<Bus> {
  try {
    return new MemoryBus(onFault, folder === undefined ? undefined : await FolderStore.open(folder, onFault));
  } catch (error) {
    throw new Error(`sessions.store: ${(error as Error).message}`, { cause: error });
  }
}

/** The folder of `sessions.store`; undefined where sessions end with the process. */
export function storeOf({ sessions }: Pick<Config, 'sessions'>, baseFolder: string): string | undefined {
  return sessions.store === undefined ? undefined : resolve(baseFolder, sessions.store);
}

/** Examines NATS for `omnibus doctor` without changing anything there. @throws {BusError} as `openBus` does. */
export function examineBus(config: Config, baseFolder: string, connectTimeoutMs: number): Promise<NatsExamination> {
  const { prefix, domain, region } = config.nats;
  return examineNats({
    servers: config.bus,
    place: { prefix, domain, region },
    login: loginOf(config, baseFolder),
    clientName: 'omnibus-doctor',
    connectTimeoutMs,
  });
}

/** Creates and updates the streams of the gateway. @throws {BusError} as `openBus` does. */
export function setUpBus(
  config: Pick<Config, 'bus' | 'nats'>,
  baseFolder: string,
  ledger: LedgerDefinition | undefined,
  options: Pick<SetUpOptions, 'connectTimeoutMs' | 'waiting' | 'replicas'>,
): Promise<readonly SetUpStep[]> {
  const { prefix, domain, region } = config.nats;
  return setUpNats(
    {
      servers: config.bus,
      place: { prefix, domain, region },
      login: loginOf(config, baseFolder),
      clientName: 'omnibus-setup',
      ...options,
    },
    ledger,
  );
}

/** What this process waits for until NATS is set up, in words for the operator. */
export function missingStreams(bus: Bus | undefined): readonly string[] {
  return (bus?.missing ?? []).map(
    (stream) => `the stream ${stream} is missing at NATS or older than this version: run "omnibus nats setup"`,
  );
}

/** @returns undefined where NATS refuses it, as with the permissions of an older version. */
export async function openBlocks(bus: Bus, log: Logger): Promise<Blocks | undefined> {
  try {
    return await Blocks.open(bus);
  } catch (error) {
    log.error({ problem: String(error) }, `nobody can be blocked here: ${openingAdvice(error)}`);
    return undefined;
  }
}

/** The problem of the address or the login of the bus, as far as a check without a connection finds it; undefined if there is none. */
export async function busProblem(config: Config, baseFolder: string): Promise<string | undefined> {
  return config.bus === 'memory' ? undefined : findLoginProblem(config.bus, loginOf(config, baseFolder));
}

/** The address of the bus without the user and password that may be in it, for display. */
export function busAddress({ bus }: Pick<Config, 'bus'>): string {
  return bus.replaceAll(/\/\/[^/@,]*@/g, '//');
}

function loginOf(
  {
    nats: { prefix: _prefix, domain: _domain, region: _region, tls, nkeyFile, credentialsFile, ...login },
  }: Pick<Config, 'nats'>,
  baseFolder: string,
): NatsLogin {
  const path = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(baseFolder, file);
  return {
    ...login,
    nkeyFile: path(nkeyFile),
    credentialsFile: path(credentialsFile),
    ...(tls === undefined
      ? {}
      : { tls: { ...tls, caFile: path(tls.caFile), certFile: path(tls.certFile), keyFile: path(tls.keyFile) } }),
  };
}
