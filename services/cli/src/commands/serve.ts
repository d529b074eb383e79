import cluster from 'node:cluster';
import { boundYoungGeneration, stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import type { Gateway, Starting } from '../gateway.ts';
import { opensPages } from '../desktop/browser.ts';
import { showingPages } from '../desktop/page-shower.ts';
import { notice } from '../output/outcome.ts';
import { hideEnvironment } from '../serving/hide-environment.ts';
import type { ServeOptions } from '../serving/serve-options.ts';
import { ServedGateway } from '../serving/served-gateway.ts';
import { isAtTerminal } from '../starts/consent.ts';
import { fail, findConfigFile } from './settings.ts';

export async function serve(options: ServeOptions): Promise<void> {
  const { workers } = options;
  if (workers !== undefined && cluster.isWorker) return (await import('../workers/worker.ts')).serveAsWorker(options);
  if (findConfigFile(options.config) === undefined && isAtTerminal(options)) await askFirst(options);
  if (workers !== undefined) return (await import('../workers/supervise.ts')).supervise({ ...options, workers });
  const served = await prepared(options);
  if (served === undefined) return;
  boundYoungGeneration();
  const { log } = served;
  const problem = hideEnvironment();
  if (problem !== undefined)
    log.warn({ problem }, 'servers that run as this user can read the environment this process was started with');
  stopOnSignal({
    limitMs: served.stopMs,
    onForced: (reason) => log.error({ reason }, 'stopped by force'),
    stop(signal) {
      log.info({ signal }, 'stopping');
      return served.stop();
    },
  });
  await served.follow(await started(served));
}

/** Asks for the first servers of this folder; without an answer, the gateway names the missing part. */
async function askFirst(options: Starting): Promise<void> {
  const { askForServers } = await import('../serving/first-servers.ts');
  await askForServers(options).catch((error: unknown) => notice(`omnibus: ${(error as Error).message}`));
}

/** @returns undefined after printing why the gateway cannot start and setting the exit status. */
async function prepared(options: ServeOptions): Promise<ServedGateway | undefined> {
  const served = await ServedGateway.prepare(options, {
    env: process.env,
    print: (text) => void process.stdout.write(`${text}\n`),
    showPage: showingPages(opensPages(options.browser), (text) => void process.stderr.write(`omnibus: ${text}\n`)),
  });
  if (served instanceof ServedGateway) return served;
  fail(served.problems);
  return undefined;
}

/** Starts the gateway. Ends the process if that fails. */
async function started(served: ServedGateway): Promise<Gateway> {
  try {
    const gateway = await served.start();
    const { faults } = gateway;
    surviveFaults((kind, error) => faults.bug(kind, 'an error was caught nowhere else', error));
    return gateway;
  } catch (error) {
    process.stderr.write(`omnibus: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
