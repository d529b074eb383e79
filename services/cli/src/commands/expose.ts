import { expose } from '@omnibus/backend/expose';
import { loadConfig } from '@omnibus/config';
import { stopOnSignal } from '@omnibus/lifecycle';
import { defaultLimits } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';

export interface ExposeOptions {
  readonly listen: string;
  readonly maxPrograms: string;
}

/** Milliseconds; longer than the time limit of a program to end (`backend/transport/child-process.ts`). */
const stopMs = 8_000;

/** Serves a program that speaks MCP on stdin and stdout to every client that connects. The program gets the environment of this process; in a pod of a server, that holds the variables of this server only. */
export function exposeProgram(words: readonly [string, ...string[]], options: ExposeOptions): Promise<void> {
  return runCommand(false, async () => {
    await serve(words, options);
  });
}

/** @throws {CommandProblem} */
async function serve(
  [command, ...args]: readonly [string, ...string[]],
  { listen, maxPrograms }: ExposeOptions,
): Promise<void> {
  const checked = loadConfig({ file: 'options', text: JSON.stringify({ listen }), env: {}, readFile: () => '' });
  if ('problems' in checked || !/^[1-9]\d{0,4}$/.test(maxPrograms)) {
    throw new CommandProblem(
      'usage',
      'problems' in checked
        ? '--listen: expected HOST:PORT, for example "0.0.0.0:7300"'
        : '--max-programs: expected a number from 1',
    );
  }
  const { hostname, port } = new URL(`http://${listen}`);
  // The stderr output of the program goes to the log of the pod.
  const log = createLogger({ level: 'debug', format: 'auto' });
  const env = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const exposed = await expose({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    command,
    args,
    env,
    cwd: process.cwd(),
    maxPrograms: Number(maxPrograms),
    maxBytes: defaultLimits.maxUpstreamMessageBytes,
    log,
  });
  stopOnSignal({
    limitMs: stopMs,
    stop: () => exposed.close(),
    onForced: (reason) => log.error({ reason }, 'stopped by force'),
  });
  log.info({ port: exposed.port, command }, 'listening');
}
