/** The admin port of a process: its sites, its callers, and its transport. */
import type { Bus } from '@omnibus/bus';
import { consoleMode } from '@omnibus/config';
import type { Edge } from '@omnibus/edge';
import { adminTlsFilesOf, followTls, readTls, type Authenticator } from '@omnibus/identity';
import { listenProblem } from '@omnibus/lifecycle';
import { startAdminServer, type AdminOptions, type AdminServer } from '@omnibus/telemetry';
import { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { openAdminApi } from './api/open-api.ts';
import type { ApiOptions } from './api/options.ts';
import { consoleSite, issuersOf, pageFolder } from './console-site.ts';
import { Recovery } from './recovery.ts';
import { statusFor } from './status.ts';

export interface OpenAdminOptions
  extends Omit<ApiOptions, 'access' | 'recovery' | 'note' | 'denied'>, Pick<AdminOptions, 'notReady' | 'metricsText'> {
  /** False in a process whose admin port is that of another one. */
  readonly listens: boolean;
  /** @returns undefined while the process is starting, and if callers are not authenticated. */
  readonly authenticator: () => Authenticator | undefined;
  /** @returns undefined in a process without one, and while it starts. */
  readonly edge: () => Edge | undefined;
}

/** The port, and its questions and answers over the bus. */
export interface OpenedAdmin {
  /** `host:port`; undefined where it does not listen. */
  readonly address: string | undefined;
  close(): Promise<void>;
  /** Begins to ask other processes, and to answer them. */
  join(bus: Bus): Promise<void>;
}

/** @throws {Error} in words for the operator. */
export async function openAdmin(options: OpenAdminOptions): Promise<OpenedAdmin> {
  const { config, baseFolder, sealingKeys, log, metrics, status, audit } = options;
  const recovery = sealingKeys === undefined ? undefined : new Recovery(sealingKeys);
  const access = new AdminAccess({ ...options, recovery });
  const api = openAdminApi({
    ...options,
    recovery,
    access,
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
  const answers = { join: (bus: Bus) => api.start(bus) };
  if (!options.listens) {
    return { ...answers, address: undefined, close: () => Promise.resolve(api.stop()) };
  }
  const page = consoleSite(
    () => consoleMode(config()) !== 'off',
    pageFolder,
    () => issuersOf(config()),
  );
  const files = adminTlsFilesOf(config(), baseFolder);
  const server = await listen(options, {
    sites: [api.site, page],
    tls: files === undefined ? undefined : readTls(files),
    guard: access.guard,
    status: (request) => statusFor(status(), config(), access.of(request).tenant),
  });
  const endTls =
    files === undefined
      ? undefined
      : await followTls(files, {
          changed: (tls) => server.renew(tls),
          rejected(problem) {
            metrics.tlsReloadsRefused.inc();
            log.error({ problem }, 'the changed files of TLS are not taken');
          },
        });
  return {
    ...answers,
    address: server.address,
    async close() {
      await endTls?.();
      api.stop();
      await server.close();
    },
  };
}

/** @throws {Error} in words for the operator. */
async function listen(
  { config, metrics, metricsText, notReady, onFault }: OpenAdminOptions,
  served: Pick<AdminOptions, 'sites' | 'tls' | 'guard' | 'status'>,
): Promise<AdminServer> {
  const {
    admin,
    security: { allowedHosts = [] },
  } = config();
  const { hostname, port } = new URL(`http://${admin}`);
  try {
    return await startAdminServer({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 80),
      allowedHosts,
      metrics,
      metricsText,
      notReady,
      onFault,
      ...served,
    });
  } catch (error) {
    const isOfAddress = /^(bind|listen|getaddrinfo)$/.test((error as NodeJS.ErrnoException).syscall ?? '');
    throw !isOfAddress ? error : new Error(listenProblem(error, admin, '--admin'), { cause: error });
  }
}
