/** Processes of the gateway that count their own work: which functions run, and how often their blocks do. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { fixturePath, root, type RunningProcess } from '../support/processes.ts';

/** One function that has run. */
export interface Counted {
  /** Its compiled file, from the root of the checkout. */
  readonly file: string;
  /** Its name, empty for a function without one, and its place in the file. */
  readonly name: string;
  /** How often it has run, and how often each of its blocks whose count differs. */
  readonly steps: number;
}

/**
 * Starts a gateway in one process that counts its work. It runs the compiled files of the checkout: the bundle of `npm test` is one file. Code from a cache has
 * no counters in its blocks.
 */
export function startCounting(config: object): Promise<GatewayUnderTest> {
  return startGateway(
    'embedded',
    config,
    {
      NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('counted-work')).href}`,
      NODE_DISABLE_COMPILE_CACHE: '1',
    },
    join(root, 'services/gateway/bin/omnibus.js'),
  );
}

/** How often processes have given their counts. */
const times = new WeakMap<RunningProcess, number>();

/** The functions that have run in a process since the last call of this function. */
export async function countedOf(process: RunningProcess): Promise<readonly Counted[]> {
  const time = (times.get(process) ?? 0) + 1;
  times.set(process, time);
  process.kill('SIGUSR2');
  return JSON.parse((await process.line(new RegExp(`^counted ${time}: (.+)$`)))[1] as string) as Counted[];
}
