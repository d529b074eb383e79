/** Whether something answers at an address: a program that was started, or somebody else's that is starting. */
import { connect, type LookupFunction } from 'node:net';

export interface PortOptions {
  readonly url: string;
  readonly limitMs: number;
  /** False when nobody waits any more. */
  readonly isWanted: () => boolean;
  /** Finds the address of a name, and refuses those that may not be connected to. */
  readonly lookup?: LookupFunction;
}

const probeMs = 100;

/** Resolves as soon as something accepts a connection there. @returns false when nothing did in time, or nobody waits any more. */
export async function untilPortOpen({ url, limitMs, isWanted, lookup }: PortOptions): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const giveUpAt = performance.now() + limitMs;
  const to = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (/^(https|wss):$/.test(protocol) ? 443 : 80)), ...(lookup === undefined ? {} : { lookup }) };
  while (isWanted()) {
    if (await isOpen(to)) return true;
    if (performance.now() > giveUpAt) return false;
  }
  return false;
}

/** Connects once. @returns whether that worked; when it did not, after a short wait. */
function isOpen(to: { readonly host: string; readonly port: number; readonly lookup?: LookupFunction }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(to);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      setTimeout(() => resolve(false), probeMs);
    });
    // One that neither accepts nor refuses must not hold up the limit.
    socket.setTimeout(probeMs * 10, () => socket.destroy(new Error('no answer')));
  });
}
