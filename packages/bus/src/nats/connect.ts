import { connect, type NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';

export interface NatsOptions {
  /** `nats://host:port`, several separated by commas. */
  readonly servers: string;
  /** Shown in NATS' own monitoring. */
  readonly clientName: string;
  /** Milliseconds to wait for the first connection before giving up; Infinity for ever. */
  readonly connectTimeoutMs: number;
  /** Called now and then while there is none. */
  readonly waiting?: (problem: string) => void;
}

const retryMs = 500;
const sayMs = 5_000;
/** A connection that passes nothing on is found out within three of these. */
const pingMs = 2_000;

/**
 * Connects, waiting a while for a NATS that is still starting; later it reconnects for ever.
 * @throws {BusError} `timeout` naming the address when there is no NATS.
 */
export async function connectNats(options: NatsOptions): Promise<NatsConnection> {
  const giveUpAt = performance.now() + options.connectTimeoutMs;
  let saidAt = -Infinity;
  for (;;) {
    try {
      return await connect({
        servers: options.servers.split(',').map((server) => server.trim()),
        name: options.clientName,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 250,
        pingInterval: pingMs,
        maxPingOut: 2,
        ignoreClusterUpdates: false,
      });
    } catch (error) {
      const problem = `no NATS server answers at ${options.servers}: ${String(error)}`;
      if (performance.now() + retryMs >= giveUpAt) throw new BusError('timeout', problem, error);
      if (performance.now() - saidAt >= sayMs) {
        saidAt = performance.now();
        options.waiting?.(problem);
      }
      await new Promise<void>((resume) => {
        setTimeout(resume, retryMs);
      });
    }
  }
}
