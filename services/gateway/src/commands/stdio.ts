import { Boundary, Delivery, RequestMeter, serveStdioClient } from '@omnibus/edge';
import { stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import { isToken, parseEndpointName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { startGateway } from '../compose.ts';
import { serveJoinedClient } from '../joined-client.ts';
import { hideEnvironment } from '../hide-environment.ts';
import { fail, findSettings, type Overrides } from './settings.ts';

export interface StdioOptions extends Overrides {
  readonly config?: string;
  readonly endpoint?: string;
  /** The address of a gateway that runs already. */
  readonly connect?: string;
  /** `Name: value` */
  readonly header?: readonly string[];
}

/** Desktop clients list the tools once, right after the handshake, so the servers get this long to be there. */
const settleMs = 10_000;
const stopSlackMs = 10_000;

/** Serves one client on stdin and stdout, with the servers in this process or in a gateway that runs already. Logs go to stderr. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  if (options.connect === undefined) await serveAlone(options);
  else await join(options, options.connect);
}

/** Carries one client's messages to a gateway that runs elsewhere. */
async function join({ endpoint, header = [] }: StdioOptions, address: string): Promise<void> {
  const problem = joinProblem(address, endpoint, header);
  if (problem !== undefined) {
    fail([problem]);
    return;
  }
  const url = endpoint === undefined ? address : `${address.replace(/\/$/, '')}/${endpoint}`;
  const headers = Object.fromEntries(header.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]));
  let exitCode = 0;
  process.stdin.once('close', () => endWithin(stopSlackMs));
  await serveJoinedClient({
    url, headers, input: process.stdin, output: process.stdout,
    onProblem: (text, isFatal) => {
      if (isFatal) exitCode = 1;
      process.stderr.write(`omnibus: ${text}\n`);
    },
  });
  process.exit(exitCode);
}

function joinProblem(address: string, endpoint: string | undefined, header: readonly string[]): string | undefined {
  if (!URL.canParse(address) || !/^https?:/.test(address)) return `--connect: expected http://host:port/mcp, not ${JSON.stringify(address)}`;
  if (endpoint !== undefined && !isToken(endpoint)) return `--endpoint: expected the name of a server or profile, not ${JSON.stringify(endpoint)}`;
  const bad = header.find((line) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*:/.test(line));
  return bad === undefined ? undefined : `--header: expected "Name: value", not ${JSON.stringify(bad)}`;
}

async function serveAlone(options: StdioOptions): Promise<void> {
  const settings = findSettings(options.config, options);
  if (settings === undefined) return;
  const { config, baseFolder } = settings;
  const log = createLogger(config.log);
  const problem = hideEnvironment();
  if (problem !== undefined) log.warn({ problem }, 'servers that run as this user can read the environment this process was started with');
  const gateway = await startGateway({ config: { ...config, bus: 'memory' }, baseFolder, role: 'all', isServing: false, log });
  surviveFaults((kind, error) => gateway.faults.bug(kind, 'something failed where nothing should', error));
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= gateway.stop());
  stopOnSignal({ limitMs: config.timeouts.drain + stopSlackMs, stop, onForced: (reason) => log.error({ reason }, 'stopped by force') });
  const limit = new Promise<void>((resolve) => {
    setTimeout(resolve, settleMs).unref();
  });
  const endpoint = options.endpoint === undefined ? undefined : parseEndpointName(options.endpoint);
  const { bus, wheel, metrics, tracing, faults } = gateway;
  process.stdin.once('close', () => endWithin(config.timeouts.drain + stopSlackMs));
  await serveStdioClient({
    bus, endpoint, meter: new RequestMeter(metrics, tracing),
    delivery: new Delivery({ bus, wheel, log }), limits: config.limits, boundary: new Boundary(log, faults), input: process.stdin, output: process.stdout,
    ready: Promise.race([gateway.settled(), limit]),
  });
  await stop();
  process.exit(0);
}

/** The client is gone: whatever does not let go by then is not waited for. */
function endWithin(limitMs: number): void {
  setTimeout(() => process.exit(1), limitMs).unref();
}
