/** The gateway of one process, as commands use it. A process loads the parts of its role and no others. */
import type { Gateway, GatewayOptions } from '@omnibus/cli';
import { consoleMode } from '@omnibus/config';
import { withReason } from '@omnibus/protocol';
import { ConfigHistory } from '@omnibus/admin/history';
import { compose } from './compose.ts';
import type { PartHost } from './part.ts';
import { parts } from './parts.ts';
import { auditing } from './parts/audit.ts';
import { servers } from './parts/backend.ts';
import { connectedBus } from './parts/bus.ts';
import { signInPages } from './parts/sign-in-pages.ts';
import { traces } from './parts/tracing.ts';

/** Starts all parts of the role. @throws {Error} in words for the operator, after stopping the parts that had started. */
export async function startGateway({
  history = new ConfigHistory('', undefined),
  reload = () => Promise.resolve({ problems: ['nothing is followed here'], later: [] }),
  ...options
}: GatewayOptions): Promise<Gateway> {
  const { host, apply, stop } = await compose({ ...options, history, reload }, parts);
  const { wheel, metrics, faults, addresses } = host;
  const backend = host.find(servers);
  const settled = backend?.settled() ?? Promise.resolve();
  return {
    bus: host.of(connectedBus),
    wheel,
    metrics,
    tracing: host.of(traces),
    faults,
    audit: host.of(auditing),
    endpoint: addresses.endpoint,
    adminAddress: addresses.admin,
    consoleUrl: consoleUrlOf(host),
    records: () => (backend?.loads ?? []).map(withReason),
    servers: backend,
    settled: () => settled,
    invite: () =>
      host
        .of(signInPages)
        .invite((backend?.records ?? []).filter(({ wantsSignIn }) => wantsSignIn === true).map(({ server }) => server)),
    apply,
    stop,
  };
}

function consoleUrlOf({ config, addresses: { admin } }: PartHost): string | undefined {
  if (admin === undefined || consoleMode(config) === 'off') return undefined;
  return `${config.tls?.admin === true ? 'https' : 'http'}://${admin}/`;
}
