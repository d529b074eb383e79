/** The commands for the vault: the entries under each key, the switch to another key, and copies of the encrypted entries. */
import { createLogger, Metrics } from '@omnibus/telemetry';
import { MemoryBus } from '@omnibus/bus';
import { printable } from '@omnibus/protocol';
import { shownVault } from '@omnibus/admin';
import type { Vault, VaultRotated } from '@omnibus/admin-api';
import { adminAddress } from '../command-line/shared-options.ts';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { alignColumns } from '../output/table.ts';
import type { VaultOperations } from '@omnibus/credentials';
import type { AskOptions } from './admin-port.ts';
import { askApi } from './api.ts';
import { findConfigFile, needSettings } from './settings.ts';

export interface VaultOptions extends Omit<AskOptions, 'admin'> {
  /** Default: the admin address of the environment, or that of a gateway on this machine; where none runs, the file of the vault is opened instead. */
  readonly admin?: string;
  readonly config?: string;
  readonly json?: boolean;
}

const shownLost = 20;

export function showVault(options: VaultOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const report = await asked<Vault>(
      options,
      (admin) => askApi(admin, 'vault', '/vault'),
      async (vaults) => ({
        ...shownVault(await vaults.report()),
        processes: [],
        missing: [],
      }),
    );
    if (options.json === true) answerJson(report);
    else answer(`${inWords(report)}\n`);
  });
}

function inWords({ current, keys, makesKeys, lostCount, lost, processes, missing }: Vault): string {
  const newest = keys[0]?.id;
  const lacking = processes.filter((each) => keys.some(({ id }) => !each.keys.includes(id)));
  return [
    alignColumns([
      ['KEY', 'ENTRIES', 'STATE'],
      ...keys.map(({ id, entries }) => [
        printable(id),
        String(entries),
        id === current
          ? 'encrypts'
          : entries > 0
            ? 'still needed'
            : id === newest
              ? 'new: "omnibus vault rotate" changes to it'
              : 'can be removed',
      ]),
    ]),
    ...(makesKeys ? ['The gateway makes its keys itself: "omnibus vault rotate" makes a new one.'] : []),
    ...lacking.map(({ process }) => `${process} does not have all of these keys.`),
    ...missing.map((process) => `${process} does not answer.`),
    ...(lostCount === 0
      ? []
      : [
          '',
          `${lostCount} connections of users cannot be decrypted, because a key is missing. With that key in vault.keys they are there again. Without it each of these users signs in again, which`,
          'replaces the entry, or "omnibus connections revoke SERVER --principal PRINCIPAL --admin HOST:PORT" removes it. Nothing is removed by itself.',
          alignColumns([
            ['SERVER', 'PRINCIPAL', 'MISSING KEY', 'ISSUER'],
            ...lost
              .slice(0, shownLost)
              .map(({ server, principal, key, issuer }) => [
                server,
                principal,
                printable(key ?? '-'),
                printable(issuer ?? '-'),
              ]),
          ]),
          ...(lostCount > shownLost ? [`and ${lostCount - shownLost} more`] : []),
        ]),
  ].join('\n');
}

export function rotateVault({ key, ...options }: VaultOptions & { readonly key?: string }): Promise<void> {
  return runCommand(options.json, async () => {
    const done = await asked<VaultRotated>(
      options,
      (admin) => askApi(admin, 'rotateVault', '/vault', 'POST', { key }),
      async (vaults) => ({
        isGoingOn: false,
        ...(await vaults.rotate(key)),
      }),
    );
    if (options.json === true) answerJson(done);
    else if (done.isGoingOn)
      answer(
        `new entries are encrypted under ${printable(done.key)}, and those before are being encrypted anew: "omnibus vault status" shows how far that is\n`,
      );
    else
      answer(
        `everything is encrypted under ${printable(done.key)} now; ${done.renewed} entries were encrypted anew${done.lost === 0 ? '' : `, and ${done.lost} cannot be decrypted: "omnibus vault status" shows which`}\n`,
      );
  });
}

/** Asks a running gateway; where none was named and none runs on this machine, opens the file of the vault. */
async function asked<Answer>(
  options: VaultOptions,
  running: (options: AskOptions) => Promise<Answer>,
  alone: (vaults: VaultOperations) => Promise<Answer>,
): Promise<Answer> {
  const { admin = adminAddress(process.env) } = options;
  try {
    return await running({ ...options, admin });
  } catch (error) {
    const isNobody = error instanceof CommandProblem && error.exit === 'unreachable';
    if (
      !isNobody ||
      options.admin !== undefined ||
      (options.config === undefined && findConfigFile(undefined) === undefined)
    )
      throw error;
    return inFile(options.config, alone);
  }
}

async function inFile<Answer>(
  config: string | undefined,
  work: (vaults: VaultOperations) => Promise<Answer>,
): Promise<Answer> {
  const settings = await needSettings(config, {});
  if (settings.config.bus !== 'memory')
    throw new CommandProblem(
      'unreachable',
      'no gateway runs here, and its vault is on the bus: give --admin HOST:PORT of one of its processes',
    );
  notice('omnibus: no gateway runs here: the file of the vault is opened');
  const { openVaults } = await import('@omnibus/setup/vault');
  const vaults = await openVaults({
    ...settings,
    bus: new MemoryBus(() => undefined),
    log: createLogger({ ...settings.config.log, level: 'error' }),
    metrics: new Metrics({ processMetrics: false }),
  });
  try {
    return await work(vaults);
  } finally {
    vaults.stop();
  }
}
