/** The gateway of one process, as commands use it. A process loads the parts of its role and no others. */
import type { Audit } from '@omnibus/audit';
import type { Bus } from '@omnibus/bus';
import { consoleMode, type Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { type CatalogRecord, withReason } from '@omnibus/protocol';
import type { Faults, Metrics, Tracing } from '@omnibus/telemetry';
import { ConfigHistory } from '@omnibus/admin/history';
import { compose } from './compose.ts';
import type { ServersHere } from '@omnibus/kubernetes';
import type { PartHost, ProcessOptions } from './part.ts';
import { parts } from './parts.ts';
import { auditing } from './parts/audit.ts';
import { servers } from './parts/backend.ts';
import { connectedBus } from './parts/bus.ts';
import { signInPages } from './parts/sign-in-pages.ts';
import { traces } from './parts/tracing.ts';

export type { Role } from '@omnibus/config';

/** Options of a process. Without `reload` it follows no configuration; without `history` no operator sees its versions. */
export type GatewayOptions = Omit<ProcessOptions, 'reload' | 'history'> &
  Partial<Pick<ProcessOptions, 'reload' | 'history'>>;

export interface Gateway {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
  readonly faults: Faults;
  /** Undefined where no audit is configured. */
  readonly audit: Audit | undefined;
  /** `http://host:port/mcp`; undefined for a role without an edge. */
  readonly endpoint: string | undefined;
  /** `host:port`; undefined when not serving. */
  readonly adminAddress: string | undefined;
  /** `http://host:port/`, or with https where the admin port speaks TLS; undefined when not serving, and where the console is off. */
  readonly consoleUrl: string | undefined;
  /** State and lists of the servers that this process connects to, for the user of this machine: a problem has the reason that a program wrote on stderr. */
  records(): readonly CatalogRecord[];
  /** The servers that this process connects to; undefined in one without the role backend. */
  readonly servers: ServersHere | undefined;
  /** Resolves when every server is up or has failed its first attempt. */
  settled(): Promise<void>;
  /** Sends the one user of this machine to the pages of servers that want them to sign in, one after the other. Never rejects. */
  invite(): Promise<void>;
  /** Applies a configuration. @throws {Error} in words for the operator, if a part rejects it. */
  apply(config: Config): Promise<void>;
  stop(): Promise<void>;
}

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
