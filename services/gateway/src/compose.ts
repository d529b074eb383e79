/**
 * Composes one process of the gateway: the parts of its role, and the order in which they start and stop. A process loads the parts of its
 * role and no others.
 */
import type { Audit, AuditTrail } from '@omnibus/audit';
import type { Blocks, Bus, OnFault } from '@omnibus/bus';
import type { Backend, BackendOptions, UserOptions } from '@omnibus/backend';
import { consoleMode, isForOneUser, type Config } from '@omnibus/config';
import type { AuthorizationServer } from '@omnibus/authorization';
import type { Edge } from '@omnibus/edge';
import type { ServersHere } from '@omnibus/kubernetes';
import type { openAdminAuthenticator } from './identity.ts';
import type { SealingKeys } from './sealing-key.ts';
import { compileAccess } from './access.ts';
import { compileGuards } from './guards.ts';
import type { GoneUsers } from './connect/gone-users.ts';
import { openPages } from './connect/own-user.ts';
import type { Exchange } from './exchange/open-exchange.ts';
import type { Vaults } from './vault.ts';
import { withReason } from './problem-words.ts';
import { missingStreams, openBlocks, openBus } from './open-bus.ts';
import { Proofs, type Authenticator } from '@omnibus/identity';
import { DeadlineWheel, proxyEnvironment } from '@omnibus/lifecycle';
import { newWorkerId, version, type CatalogRecord, type ServerName } from '@omnibus/protocol';
import type { SessionWorker } from '@omnibus/session';
import { Failures, Faults, Metrics, openTracing, Tap, type Logger, type Tracing } from '@omnibus/telemetry';
import { ConfigHistory } from './admin/api/config-history.ts';
import { TapDesk } from './admin/api/tap-desk.ts';
import type { Reloaded } from './admin/acts.ts';
import { openAdmin } from './admin/open-admin.ts';
import type { ProcessStatus } from './admin/status.ts';
import { openAudit } from './audit.ts';
import { measureBus, measureConfig, measurePauses, repeat } from './measure.ts';
import { tlsFilesOf } from './tls-files.ts';
import { proxyFetches } from './proxied-fetches.ts';

export type Role = 'all' | 'edge' | 'session' | 'backend';

export interface GatewayOptions {
  readonly config: Config;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  readonly role: Role;
  /** False for a gateway that opens no ports: its one client is served over streams, or it has none. */
  readonly isServing: boolean;
  readonly log: Logger;
  /** Keys that all edges and session workers share; undefined where this process is the only one. */
  readonly sealingKeys?: SealingKeys | undefined;
  /** Reads the configuration again and applies it. @returns what is wrong with it. */
  readonly reload?: () => Promise<Reloaded>;
  /** Shows the one user of this machine the page of a sign-in, or prints its address. @returns whether a browser was opened. */
  readonly showPage?: (server: ServerName, address: string) => boolean;
  /** Versions of the configuration and whether they were applied; left out where nobody is shown them. */
  readonly history?: ConfigHistory;
}

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
  /** Sends the one user of this machine to the pages of servers that want him to sign in, one after the other. Never rejects. */
  invite(): Promise<void>;
  apply(config: Config): Promise<void>;
  stop(): Promise<void>;
}

/** Milliseconds between two flushes of faults that were counted instead of logged one by one. */
const flushMs = 5_000;

/** Starts all parts of the role. The admin port opens first, and its readiness says what the start waits for. @throws {Error} in words for the operator, after stopping what was started. */
export async function startGateway({
  config,
  baseFolder,
  role,
  isServing,
  log,
  sealingKeys,
  showPage,
  history = new ConfigHistory('', undefined),
  reload = () => Promise.resolve({ problems: ['nothing is followed here'], later: [] }),
}: GatewayOptions): Promise<Gateway> {
  if (config.proxy !== undefined) await proxyFetches(config.proxy);
  const metrics = new Metrics({ processMetrics: true });
  metrics.describe(role);
  const faults = new Faults({ log, metrics });
  const wheel = new DeadlineWheel({ onFault: (error) => faults.bug('deadline', 'a deadline failed', error) });
  const stopFlushing = repeat(wheel, flushMs, () => faults.flush());
  const onFault: OnFault = ({ kind, what, family, error, incident }) => {
    if (kind === 'message') metrics.unreadable(family ?? 'other');
    if (kind === 'format') {
      metrics.foreignFormat(family ?? 'other');
      faults.once(family ?? 'other', what);
    } else if (kind === 'handler' || kind === 'observer') faults.bug(kind, what, error, incident);
    else faults.fromOutside(what, error);
  };
  const has = (part: Role): boolean => role === 'all' || role === part;

  let current = config;
  const self = newWorkerId(role);
  const failures = new Failures();
  const tap = new Tap({
    process: self,
    clock: wheel,
    say: (to, report) => tapDesk.say(to, report),
    mayPayloads: () => current.console.payloads,
    metrics: { watches: metrics.callers.tapWatches, dropped: metrics.callers.tapDropped },
  });
  const tapDesk: TapDesk = new TapDesk({ process: self, wheel, log, tap });
  let bus: Bus | undefined;
  let busProblem = 'the bus is not connected';
  let sessions: SessionWorker | undefined;
  let edge: Edge | undefined;
  let backend: Backend | undefined;
  let endpoint: string | undefined;
  let [isSettled, isStopping] = [false, false];
  const notReady = (): string[] => [
    ...(bus?.connected === true ? [] : [busProblem]),
    ...missingStreams(bus),
    ...(isSettled ? [] : [has('backend') ? 'servers are still connecting' : 'still starting']),
    ...(isStopping ? ['stopping'] : []),
  ];
  const startedAt = Date.now();
  const status = (): ProcessStatus => ({
    role,
    version,
    pid: process.pid,
    uptimeSeconds: Math.round((Date.now() - startedAt) / 1_000),
    endpoint,
    problems: notReady(),
    bus: {
      kind: config.bus === 'memory' ? 'memory' : 'nats',
      isConnected: bus?.connected ?? false,
      reconnects: bus?.reconnects ?? 0,
    },
    ...(sessions === undefined
      ? {}
      : { sessions: sessions.desk.counts(), leftOut: sessions.desk.leftOut, adapters: sessions.desk.adapters }),
    ...(backend === undefined
      ? {}
      : {
          servers: backend.loads.map(
            ({
              record: { server, status: is, problem, revision, lists, leftOut = 0, unfit = [], held = [], wantsSignIn },
              repairs,
            }) => ({
              server,
              status: is,
              ...unreadableAt(vaults, server),
              ...(backend?.sleeping.has(server) === true ? { isAsleep: true as const } : {}),
              problem,
              leftOut,
              ...(unfit.length === 0 ? {} : { unfit }),
              ...(repairs.length === 0 ? {} : { repairs }),
              revision,
              ...(wantsSignIn === true ? { wantsSignIn: backend?.waitingFor(server) ?? 0 } : {}),
              tools: lists.tools.length,
              prompts: lists.prompts.length,
              resources: lists.resources.length,
              held: held.length,
            }),
          ),
        }),
  });
  let authenticator: Authenticator | undefined;
  let closeRevocations = (): void => undefined;
  let goneUsers: GoneUsers | undefined;
  let exchange: Exchange | undefined;
  let blocks: Blocks | undefined;
  /** Opened when the first server is used at which users sign in themselves. */
  let vaults: Vaults | undefined;
  let audit: AuditTrail | undefined;
  const admin = isServing
    ? await openAdmin({
        config: () => current,
        authenticator: () => authenticator,
        kept: () => (bus === undefined || blocks === undefined ? undefined : { bus, blocks }),
        baseFolder,
        sealingKeys,
        reload,
        definitions: () => backend,
        edgeBus: () => (has('edge') ? bus : undefined),
        metrics,
        notReady,
        status,
        running: {
          sessions: () => sessions?.desk.list(),
          restart: (server) => backend?.restart(server) ?? Promise.resolve(false),
        },
        api: {
          process: self,
          wheel,
          history,
          failures,
          tapDesk,
          sessions: () => sessions?.desk,
          backend: () => backend,
          edge: () => edge,
          vaults: () => vaults,
        },
        edge: () => edge,
        audit: () => audit,
        log: log.child({ part: 'admin' }),
        faults,
        onFault: (what, error) => faults.bug('request', what, error),
      })
    : undefined;

  const waiting = (problem: string): void => {
    busProblem = problem;
    log.warn({ problem, admin: admin?.address }, 'waiting for the bus');
  };
  const opened = await openBus(config, { role, baseFolder, onFault, waiting });
  [bus, busProblem] = [opened, 'the bus is not connected'];
  measureConfig(history, metrics);
  const stopMeasuring = measureBus(bus, wheel, metrics);
  audit = await openAudit({ config, baseFolder, role, bus, metrics, log: log.child({ part: 'audit' }) });
  const tracing = await openTracing({ ...config.tracing, role, proxyEnv: proxyEnvironment() }, process.env);
  const parts = { bus, wheel, metrics, config, tracing, audit, tap, failures };
  const proofs = sealingKeys === undefined || !bus.isShared ? undefined : new Proofs(sealingKeys);
  // Of the configuration at the start: a change of these options needs a restart.
  const base = (): string =>
    config.publicUrl ?? (endpoint === undefined ? `http://${config.listen}` : new URL(endpoint).origin);
  const isForOne = !isServing || isForOneUser(config);
  const pages = openPages({ config, bus, log, served: isServing ? base : undefined });
  let authorization: AuthorizationServer | undefined;
  try {
    if (isServing) blocks = await openBlocks(opened, log);
    if (blocks !== undefined) measurePauses(blocks, () => current, metrics);
    if (has('backend')) {
      const { Backend: Part } = await import('@omnibus/backend');
      const users: UserOptions = {
        base: pages.base,
        clientDocument: pages.clientDocument,
        ready: pages.ready,
        show: isForOne ? showPage : undefined,
        isForOne,
        areKnown: config.auth !== undefined && config.auth !== 'none',
        openVaults: async () =>
          (vaults ??= await (
            await import('./vault.ts')
          ).openVaults({ config: current, baseFolder, bus: opened, log, metrics, usesKeychain: isForOne })),
      };
      backend = new Part({
        ...parts,
        baseFolder,
        users,
        log: log.child({ role: 'backend' }),
        definitionChanged: changesOnRecord(audit),
      });
    }
    if (has('session')) {
      const { Sealer, SessionWorker: Part } = await import('@omnibus/session');
      sessions = await Part.create({
        ...parts,
        sealer: sealingKeys === undefined ? undefined : new Sealer(sealingKeys),
        proofs,
        policy: await compileAccess(config),
        guardrails: await compileGuards(config),
        log: log.child({ role: 'session' }),
      });
    }
    if (has('edge') && isServing) {
      const [
        { Edge: Part, RequestMeter },
        { openAuthenticator },
        { openAuthorization },
        { openGoneUsers, openSites },
        { openExchange },
      ] = await Promise.all([
        import('@omnibus/edge'),
        import('./identity.ts'),
        import('./authorization.ts'),
        import('./connect/open-sites.ts'),
        import('./exchange/open-exchange.ts'),
      ]);
      const edgeLog = log.child({ role: 'edge' });
      authorization = await openAuthorization({
        config: () => current,
        baseFolder,
        bus,
        sealingKeys,
        metrics,
        audit,
        log: edgeLog,
        removed: (user) => void goneUsers?.removed(user),
      });
      goneUsers = openGoneUsers({ authorization, bus: opened, log: edgeLog, config: () => current });
      exchange = openExchange({ config: current, bus, log: edgeLog, metrics, authorization });
      authenticator = await openAuthenticator({ config, baseFolder, log, own: authorization, held: exchange.hold });
      const site = openSites({ authorization, authenticator, bus, log: edgeLog, base, isForOne });
      edge = new Part({
        ...parts,
        meter: new RequestMeter(metrics, tracing, tap),
        tls: tlsFilesOf(config, baseFolder),
        authenticator,
        blocks,
        proofs,
        log: edgeLog,
        site,
      });
    }
    // Without an edge, only callers of the admin port are authenticated.
    if (isServing && edge === undefined && config.auth !== 'none' && config.auth?.admin !== undefined)
      ({ authenticator, close: closeRevocations } = await openForAdmin({ config, baseFolder, log, bus }));
    const { tally } = authenticator ?? {};
    metrics.beforeScrape(() => tally?.flush((way, outcome, count) => metrics.callers.asked(way, outcome, count)));
    await sessions?.start();
    await backend?.start();
    void goneUsers?.look();
    if (edge !== undefined) await exchange?.start(authenticator, edge.worker);
    endpoint = await edge?.start();
    await admin?.join(opened);
  } catch (error) {
    await backend?.stop();
    await authenticator?.close();
    closeRevocations();
    await authorization?.close();
    await audit?.close();
    await bus.drain();
    throw error;
  }
  const settled = (backend?.settled() ?? Promise.resolve()).then(() => {
    isSettled = true;
  });

  return {
    bus: opened,
    wheel,
    metrics,
    tracing,
    faults,
    audit,
    endpoint,
    adminAddress: admin?.address,
    consoleUrl:
      admin === undefined || consoleMode(config) === 'off'
        ? undefined
        : `${config.tls?.admin === true ? 'https' : 'http'}://${admin.address}/`,
    records: () => (backend?.loads ?? []).map(withReason),
    servers: backend,
    settled: () => settled,
    invite: () =>
      pages.invite(
        (backend?.records ?? []).filter(({ wantsSignIn }) => wantsSignIn === true).map(({ server }) => server),
      ),
    async apply(changed) {
      // Compiled before anything changes, so that a configuration with wrong rules is not applied in part.
      const [policy, guardrails] =
        sessions === undefined ? [] : [await compileAccess(changed), await compileGuards(changed)];
      current = changed;
      sessions?.apply(changed, policy, guardrails);
      edge?.apply(changed);
      exchange?.apply(changed);
      await vaults?.apply(changed);
      await backend?.apply(changed);
    },
    async stop() {
      isStopping = true;
      // In a process that has sessions too, these wait for running calls: if the edge waited as well, the stop would take longer than it may.
      if (config.timeouts.leave > 0 || role === 'edge') await edge?.leave(role === 'edge' ? config.timeouts.drain : 0);
      goneUsers?.stop();
      edge?.drain();
      await sessions?.stop();
      await edge?.stop();
      await exchange?.stop();
      await authenticator?.close();
      closeRevocations();
      await authorization?.close();
      await backend?.stop();
      await pages.close();
      vaults?.stop();
      blocks?.close();
      stopMeasuring();
      stopFlushing();
      await tracing?.stop();
      await audit?.close();
      await opened.drain();
      await admin?.close();
    },
  };
}

/** The connections of users to a server that need a key that the vault does not have. */
function unreadableAt(vaults: Vaults | undefined, server: string): { readonly unreadable?: number } {
  const count =
    vaults?.lost.filter(({ place }) => place.purpose === 'connection' && place.server === server).length ?? 0;
  return count === 0 ? {} : { unreadable: count };
}

/** Records that a server says something else of itself than was approved. */
function changesOnRecord(audit: Audit | undefined): BackendOptions['definitionChanged'] {
  return audit === undefined
    ? undefined
    : ({ server, kind, name, why, effect, facets, risks, digest }) =>
        audit.record({
          name: 'definition.changed',
          weight: 'always',
          server,
          ...(kind === 'tools' || kind === 'prompts' ? { target: name } : {}),
          more: { definition: digest, definition_of: `${kind} ${name}`, why, effect, facets, risks },
        });
}

/** Opens authentication for the admin port. If that fails, the process serves all the same, and nobody is authenticated at its admin port. */
async function openForAdmin(
  options: Pick<GatewayOptions, 'config' | 'baseFolder' | 'log'> & { readonly bus: Bus },
): ReturnType<typeof openAdminAuthenticator> {
  try {
    const { openAdminAuthenticator: open } = await import('./identity.ts');
    return await open(options);
  } catch (error) {
    options.log.error({ problem: (error as Error).message }, 'nobody can be known at the admin port of this process');
    return { authenticator: undefined, close: () => undefined };
  }
}
