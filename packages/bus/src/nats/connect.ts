import { AuthorizationError, connect, TimeoutError, UserAuthenticationExpiredError, type NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import { nameAt, usualPlace, type NatsPlace } from './place.ts';
import { loginOptions, parseNatsAddresses, type NatsLogin } from './login.ts';

export interface NatsOptions {
  /** `nats://host:port` or `tls://host:port`, several separated by commas; with `user:password@` or `token@` before the host. */
  readonly servers: string;
  /** How to log in; left out where the addresses tell it, or NATS asks for nothing. */
  readonly login?: NatsLogin;
  /** Default: the prefix `omnibus`, and the JetStream that is there. */
  readonly place?: NatsPlace;
  /** Shown in NATS' own monitoring. */
  readonly clientName: string;
  /** Subject under which answers come in, so that permissions can tell roles apart. Default: `_INBOX`. */
  readonly inboxPrefix?: string;
  /** Milliseconds to wait for the first connection before giving up; Infinity for ever. */
  readonly connectTimeoutMs: number;
  /** Called now and then while there is no connection. */
  readonly waiting?: (problem: string) => void;
}

const retryMs = 500;
const sayMs = 5_000;
/** Milliseconds of one attempt: enough for several round trips to a NATS on another continent. */
const attemptMs = 5_000;
/** A connection that passes nothing on is found out within three of these. */
const pingMs = 2_000;

/**
 * Connects, waiting a while for a NATS that is still starting, or does not know us yet; later it reconnects for ever.
 * @throws {BusError} `refused` for addresses or a login that cannot be meant; `timeout` naming the addresses, and never a secret, when
 *   there is no NATS, it does not let us in, or cannot prove who it is.
 */
export async function connectNats({ servers: given, login = {}, place = usualPlace, clientName, inboxPrefix, connectTimeoutMs, waiting }: NatsOptions): Promise<NatsConnection> {
  const addresses = parseNatsAddresses(given);
  const options = loginOptions(addresses, login);
  const giveUpAt = performance.now() + connectTimeoutMs;
  let saidAt = -Infinity;
  for (;;) {
    try {
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

/** Codes of Node's TLS for a certificate that does not prove what it should. */
const distrusted = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH)/;

function problemOf(servers: string, error: unknown, isTls: boolean): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError) return `NATS at ${servers} does not let this process in: ${reason}`;
  if (/does not support 'tls'/.test(reason)) return `NATS at ${servers} offers no TLS, which its address or its settings here ask for`;
  const code = codeOf(error);
  if (code !== undefined && distrusted.test(code)) return `the certificate of NATS at ${servers} is not trusted (${code}): ${reason}`;
  if (code === 'ENOENT' || code === 'EACCES') return `a file that the login at NATS needs cannot be read: ${reason}`;
  // With TLS 1.3 a client learns of a certificate that it should have shown by a connection that ends.
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
