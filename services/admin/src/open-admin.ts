/** The admin port of a process: what is served there, to whom, and over what. */
import type { Audit } from '@omnibus/audit';
import type { Bus } from '@omnibus/bus';
import { consoleMode, type Config } from '@omnibus/config';
import type { Edge } from '@omnibus/edge';
import { adminTlsFilesOf, followTls, readTls, type Authenticator, type SealingKeys } from '@omnibus/identity';
import { listenProblem } from '@omnibus/lifecycle';
import { startAdminServer, type AdminOptions, type AdminServer, type Faults, type Logger } from '@omnibus/telemetry';
import { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { openAdminApi, type OpenApiOptions } from './api/open-api.ts';
import { consoleSite, issuersOf, pageFolder } from './console-site.ts';
import type { Kept } from './api/metering-handlers.ts';
import type { Reloaded } from './api/operator-handlers.ts';
import { Recovery } from './recovery.ts';
import { statusFor, type ProcessStatus } from './status.ts';
import { trySite } from './try-site.ts';

export interface OpenAdminOptions extends Pick<AdminOptions, 'metrics' | 'notReady' | 'onFault'> {
  /** The configuration as it is now. */
  readonly config: () => Config;
  readonly baseFolder: string;
  readonly status: () => ProcessStatus;
  /** Undefined while the process is starting, and when callers are not authenticated. */
  readonly authenticator: () => Authenticator | undefined;
  /** What is stored on the bus; undefined while the process is starting. */
  readonly kept: () => Kept | undefined;
  readonly sealingKeys: SealingKeys | undefined;
  /** Undefined in a process that serves no clients. */
  readonly edgeBus: () => Bus | undefined;
  /** The id of a user who is in the file of this issuer now. */
  readonly userId: (issuer: string, subject: string) => string | undefined;
  /** Reads the configuration again. @returns the problems found. */
  readonly reload: () => Promise<Reloaded>;
  readonly log: Logger;
  /** Logs what strangers do: the first time in full, later as a number. */
  readonly faults: Pick<Faults, 'fromOutside'>;
  /** Undefined while the process is starting, and without an audit. */
  readonly audit: () => Audit | undefined;
  /** Undefined in a process without one, and while it starts. */
  readonly edge: () => Edge | undefined;
  /** What the API shows of this process. */
  readonly api: Omit<
    OpenApiOptions,
    | 'config'
    | 'access'
    | 'metrics'
    | 'onFault'
    | 'log'
    | 'note'
    | 'denied'
    | 'sealingKeys'
    | 'status'
    | 'baseFolder'
    | 'kept'
    | 'recovery'
    | 'reload'
    | 'faults'
    | 'audit'
    | 'edgeBus'
    | 'userId'
  >;
}

/** The port, and its questions and answers over the bus. */
export interface OpenedAdmin extends AdminServer {
  /** Begins to ask other processes, and to answer them. */
  join(bus: Bus): Promise<void>;
}

/** @throws {Error} in words for the operator. */
export async function openAdmin({
  config,
  baseFolder,
  authenticator,
  kept,
  sealingKeys,
  reload,
  edgeBus,
  userId,
  log,
  faults,
  metrics,
  status,
  audit,
  edge,
  api: shown,
  ...options
}: OpenAdminOptions): Promise<OpenedAdmin> {
  const {
    admin,
    security: { allowedHosts = [] },
  } = config();
  const { hostname, port } = new URL(`http://${admin}`);
  const recovery = sealingKeys === undefined ? undefined : new Recovery(sealingKeys);
  const access = new AdminAccess({ config, authenticator, recovery, metrics, faults, audit });
  const api = openAdminApi({
    ...shown,
    config,
    baseFolder,
    edgeBus,
    userId,
    kept,
    recovery,
    reload,
    faults,
    audit,
    access,
    metrics,
    log,
    status,
    sealingKeys,
    onFault: options.onFault,
    denied: (request, act, details) =>
      recordAct(audit(), access.of(request), request, act, { outcome: 'denied', details }),
    note: (request, act, details) => {
      log.info(
        { act, by: access.of(request).name, address: request.socket.remoteAddress, ...details },
        'an act at the admin port',
      );
      recordAct(audit(), access.of(request), request, act, { outcome: 'ok', details });
    },
  });
  const tries = trySite({ config, access, edge, audit, metrics, log, onFault: options.onFault });
  const files = adminTlsFilesOf(config(), baseFolder);
  let server: AdminServer;
  try {
    server = await startAdminServer({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 80),
      allowedHosts,
      metrics,
      ...options,
      sites: [
        tries,
        api.site,
        consoleSite(
          () => consoleMode(config()) !== 'off',
          pageFolder,
          () => issuersOf(config()),
        ),
      ],
      tls: files === undefined ? undefined : readTls(files),
      guard: access.guard,
      status: (request) => statusFor(status(), config(), access.of(request).tenant),
    });
  } catch (error) {
    const isOfAddress = /^(bind|listen|getaddrinfo)$/.test((error as NodeJS.ErrnoException).syscall ?? '');
    throw !isOfAddress ? error : new Error(listenProblem(error, admin, '--admin'), { cause: error });
  }
  const join = (bus: Bus): Promise<void> => api.start(bus);
  const close = async (): Promise<void> => {
    api.stop();
    tries.stop();
    await server.close();
  };
  if (files === undefined) return { ...server, join, close };
  const endTls = await followTls(files, {
    changed: (tls) => server.renew(tls),
    rejected(problem) {
      metrics.tlsReloadsRefused.inc();
      log.error({ problem }, 'the changed files of TLS are not taken');
    },
  });
  return {
    ...server,
    join,
    async close() {
      await endTls();
      await close();
    },
  };
}
