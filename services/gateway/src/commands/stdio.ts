import { StdioIngress } from '@omnibus/edge';
import { stopOnSignal } from '@omnibus/lifecycle';
import { parseEndpointName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { startGateway } from '../compose.ts';
import { findSettings, type Overrides } from './settings.ts';

export interface StdioOptions extends Overrides {
  readonly config?: string;
  readonly endpoint?: string;
}

/** Desktop clients list the tools once, right after the handshake, so the servers get this long to be there. */
const settleMs = 10_000;
const stopSlackMs = 10_000;

/** Serves one client on stdin and stdout, with the servers in this process. Logs go to stderr. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const settings = findSettings(options.config, options);
  if (settings === undefined) return;
  const { config, baseFolder } = settings;
  const log = createLogger(config.log);
  const gateway = await startGateway({ config: { ...config, bus: 'memory' }, baseFolder, role: 'all', isServing: false, log });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= gateway.stop());
  stopOnSignal({ limitMs: config.timeouts.drain + stopSlackMs, stop, onForced: (reason) => log.error({ reason }, 'stopped by force') });
  const limit = new Promise<void>((resolve) => {
    setTimeout(resolve, settleMs).unref();
  });
  await Promise.race([gateway.settled(), limit]);
  const endpoint = options.endpoint === undefined ? undefined : parseEndpointName(options.endpoint);
  await new StdioIngress({ bus: gateway.bus, limits: config.limits, endpoint, input: process.stdin, output: process.stdout }).serve();
  await stop();
  process.exit(0);
}
