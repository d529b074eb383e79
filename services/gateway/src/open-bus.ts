/** The bus that the configuration names, and how this process shows it who it is. */
import { resolve } from 'node:path';
import { examineNats, findLoginProblem, inboxOf, MemoryBus, openNatsBus, type Bus, type NatsExamination, type NatsLogin, type OnFault } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Role } from './compose.ts';

interface BusOptions {
  /** Names the process in NATS' own monitoring; answers come in under the subject of its role. */
  readonly role: Role;
  /** The folder relative paths of the configuration start from. */
  readonly baseFolder: string;
  readonly onFault: OnFault;
  /** Called now and then while there is no NATS. */
  readonly waiting?: (problem: string) => void;
  /** Default: waits for ever. */
  readonly connectTimeoutMs?: number;
}

/** @throws {BusError} in words for the operator, without a secret. */
export function openBus(config: Config, { role, baseFolder, onFault, waiting = () => undefined, connectTimeoutMs = Infinity }: BusOptions): Promise<Bus> {
  if (config.bus === 'memory') return Promise.resolve(new MemoryBus(onFault));
  const { prefix, domain, region } = config.nats;
  return openNatsBus({ servers: config.bus, place: { prefix, domain, region }, login: loginOf(config, baseFolder), clientName: `omnibus-${role}`, inboxPrefix: inboxOf(role), connectTimeoutMs, waiting }, onFault);
}

/** What this process would find on its bus. Nothing is changed there. @throws {BusError} as `openBus` does. */
export function examineBus(config: Config, baseFolder: string, connectTimeoutMs: number): Promise<NatsExamination> {
  const { prefix, domain, region } = config.nats;
  return examineNats({ servers: config.bus, place: { prefix, domain, region }, login: loginOf(config, baseFolder), clientName: 'omnibus-doctor', connectTimeoutMs });
}

/** What is wrong with the address or the login of the bus, as far as that can be said without it. */
export async function busProblem(config: Config, baseFolder: string): Promise<string | undefined> {
  return config.bus === 'memory' ? undefined : findLoginProblem(config.bus, loginOf(config, baseFolder));
}

/** The address for people: a user and a password may stand in it. */
export function busAddress({ bus }: Config): string {
  return bus.replaceAll(/\/\/[^/@,]*@/g, '//');
}

function loginOf({ nats: { prefix: _prefix, domain: _domain, region: _region, tls, nkeyFile, credentialsFile, ...login } }: Config, baseFolder: string): NatsLogin {
  const path = (file: string | undefined): string | undefined => (file === undefined ? undefined : resolve(baseFolder, file));
  return {
    ...login, nkeyFile: path(nkeyFile), credentialsFile: path(credentialsFile),
    ...(tls === undefined ? {} : { tls: { ...tls, caFile: path(tls.caFile), certFile: path(tls.certFile), keyFile: path(tls.keyFile) } }),
  };
}
