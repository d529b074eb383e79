/** Creates the streams and buckets of the gateway at NATS, as a user that may do that. Processes that may not wait until this has run. */
import { type SetUpStep, auditLedgerOf } from '@omnibus/bus';
import { ledgerSinkOf } from '@omnibus/config';
import { busAddress, setUpBus } from '@omnibus/setup/bus';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem, type Exit } from '@omnibus/client';
import { needSettings, partOfNats } from './settings.ts';

export interface SetUpOptions {
  readonly config?: string;
  readonly bus?: string;
  readonly replicas?: string;
  readonly json?: boolean;
}

/** How long it waits for a NATS that is starting, and then for all nodes of its cluster. */
const connectMs = 30_000;

export function setUp(options: SetUpOptions): Promise<void> {
  return runCommand(options.json, async (): Promise<Exit> => {
    if (options.bus === 'memory')
      throw new CommandProblem('usage', '--bus memory is the bus inside one process, which needs no set-up', {
        advice: 'Name the NATS to set up: --bus nats://host:port.',
      });
    const { config, file, baseFolder } = await needSettings(
      options.config,
      { bus: options.bus },
      { connects: false, part: partOfNats },
    );
    if (config.bus === 'memory')
      throw new CommandProblem('config', `${file} names no NATS to set up`, {
        advice: 'Name one with --bus nats://host:port, or write "bus: nats://host:port".',
      });
    const sink = ledgerSinkOf(config);
    const ledger = sink === undefined ? undefined : auditLedgerOf(sink);
    const steps = await setUpBus(config, baseFolder, ledger, {
      connectTimeoutMs: connectMs,
      waiting: (problem) => notice(`Waiting: ${problem}.\n`),
      replicas: options.replicas === undefined ? undefined : Number(options.replicas),
    });
    if (options.json === true) answerJson(steps);
    else for (const step of steps) answer(`${textOf(step)}\n`);
    if (!steps.some(({ did }) => did === 'failed')) return 'done';
    if (options.json === true) return 'other';
    throw new CommandProblem('other', `NATS at ${busAddress(config)} is not set up completely`, {
      advice: 'Correct what is said above, and run the command again: what is good stays as it is.',
    });
  });
}

function textOf({ stream, did, changed, problem = '' }: SetUpStep): string {
  switch (did) {
    case 'created':
      return `✓ ${stream}: created`;
    case 'updated':
      return `✓ ${stream}: updated (${changed.join(', ')})`;
    case 'left':
      return `✓ ${stream}: as it should be`;
    case 'failed':
      return `✗ ${stream}: ${problem}`;
  }
}
