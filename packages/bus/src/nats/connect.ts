import {
  AuthorizationError,
  connect,
  TimeoutError,
  UserAuthenticationExpiredError,
  type NatsConnection,
} from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import { nameAt, usualPlace, type NatsPlace } from './place.ts';
import { loginOptions, parseNatsAddresses, type NatsLogin } from './login.ts';
import { checkLoginFiles, LoginFileError } from './login-files.ts';

export interface NatsOptions {
  /** `nats://host:port` or `tls://host:port`, several separated by commas; with `user:password@` or `token@` before the host. */
  readonly servers: string;
  /** How to log in; left out where the addresses contain the login, or NATS demands none. */
  readonly login?: NatsLogin;
  /** Default: the prefix `omnibus`, and the JetStream of the connected server. */
  readonly place?: NatsPlace;
  /** Shown in NATS' own monitoring. */
  readonly clientName: string;
  /** Subject under which answers come in, so that permissions can tell roles apart. Default: `_INBOX`. */
  readonly inboxPrefix?: string;
  /** Milliseconds to wait for the first connection, and for streams that only the set-up may create, before giving up; Infinity for no bound. */
  readonly connectTimeoutMs: number;
  /** Called from time to time while there is no connection. */
  readonly waiting?: (problem: string) => void;
}

const retryMs = 500;
const sayMs = 5_000;
/** Milliseconds of one attempt: enough for several round trips to a NATS on another continent. */
const attemptMs = 5_000;
/** Interval of pings; a dead connection is noticed within three of them. */
const pingMs = 2_000;

/**
 * Connects, and waits for a while when NATS is still starting or does not accept the login yet; after that it reconnects without end.
 * @throws {BusError} `refused` for addresses or a login that cannot be right; `timeout` when NATS is not reachable, refuses the login, or has a
 * certificate that is not trusted. The message names the addresses and contains no secret.
 */
export async function connectNats({
  servers: given,
  login = {},
  place = usualPlace,
  clientName,
  inboxPrefix,
  connectTimeoutMs,
  waiting,
}: NatsOptions): Promise<NatsConnection> {
  const addresses = parseNatsAddresses(given);
  const options = loginOptions(addresses, login);
  const giveUpAt = performance.now() + connectTimeoutMs;
  let saidAt = -Infinity;
  for (;;) {
    try {
      checkLoginFiles(login);
      return await connect({
        ...options,
        servers: [...addresses.servers],
        name: clientName,
        timeout: attemptMs,
        ...(inboxPrefix === undefined ? {} : { inboxPrefix: nameAt(place, inboxPrefix) }),
        maxReconnectAttempts: -1,
        reconnectTimeWait: 250,
        pingInterval: pingMs,
        maxPingOut: 2,
        ignoreClusterUpdates: false,
        // Else each request of the client's own, as for the bytes of a large result, makes two errors with their stacks before it is sent.
        noAsyncTraces: true,
      });
    } catch (error) {
      const problem = problemOf(addresses.shown, error, options.tls !== undefined);
      if (performance.now() + retryMs >= giveUpAt) throw new BusError('timeout', problem, error);
      if (performance.now() - saidAt >= sayMs) {
        saidAt = performance.now();
        waiting?.(problem);
      }
      await new Promise<void>((resume) => {
        setTimeout(resume, retryMs);
      });
    }
  }
}

/** Error codes of Node's TLS for a certificate that is not trusted. */
const distrusted = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH)/;

/** Those codes that mean that the authority which signed the certificate is unknown. */
const unknownSigner = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Node's errors may end with advice for programs that are started with options of Node. */
function withoutNodesAdvice(reason: string): string {
  return reason.replace(/; if the root CA is installed locally.*$/, '');
}

function problemOf(servers: string, error: unknown, isTls: boolean): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof LoginFileError) return `the login at NATS (${servers}) cannot be made: ${reason}`;
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError)
    return `NATS at ${servers} does not let this process in: ${reason}`;
  if (/does not support 'tls'/.test(reason))
    return `NATS at ${servers} offers no TLS, which its address or its settings here ask for`;
  const code = codeOf(error);
  if (code !== undefined && distrusted.test(code))
    return `the certificate of NATS at ${servers} is not trusted (${code}): ${withoutNodesAdvice(reason)}${unknownSigner.test(code) ? '; nats.tls.caFile names its authority' : ''}`;
  // With TLS 1.3, a client that should have shown a certificate notices it only because the connection ends.
  const hint = isTls && error instanceof TimeoutError ? '; does it want a certificate of this process?' : '';
  return `no NATS server answers at ${servers}: ${reason}${hint}`;
}

/** The library wraps some errors of Node. */
function codeOf(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { code } = each as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
  }
  return undefined;
}
