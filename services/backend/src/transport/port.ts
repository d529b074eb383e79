/** Finds out whether something answers at an address: a program that was just started, or a server that is starting elsewhere. */
import { connect, type LookupFunction } from 'node:net';

export interface PortOptions {
  readonly url: string;
  readonly limitMs: number;
  /** Returns false when the result is no longer needed. */
  readonly isWanted: () => boolean;
  /** Resolves a name, and refuses addresses that may not be connected to. */
  readonly lookup?: LookupFunction;
}

const probeMs = 100;

/** Resolves as soon as something accepts a connection. @returns false when nothing did in time, or the result is no longer needed. */
export async function untilPortOpen({ url, limitMs, isWanted, lookup }: PortOptions): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const giveUpAt = performance.now() + limitMs;
  const to = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (/^(https|wss):$/.test(protocol) ? 443 : 80)),
    ...(lookup === undefined ? {} : { lookup }),
  };
  while (isWanted()) {
    if (await isOpen(to)) return true;
    if (performance.now() > giveUpAt) return false;
  }
  return false;
}

/** Tries to connect once. @returns whether that worked; a failure is reported after a short wait. */
function isOpen(to: {
  readonly host: string;
  readonly port: number;
  readonly lookup?: LookupFunction;
}): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(to);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      setTimeout(() => resolve(false), probeMs);
    });
    // An address that neither accepts nor refuses must not delay the time limit.
    socket.setTimeout(probeMs * 10, () => socket.destroy(new Error('no answer')));
  });
}
