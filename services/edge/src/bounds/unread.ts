/**
 * Bounds answers that clients have not read yet, over any transport. A client that reads takes even large answers quickly. One that does not read is
 * disconnected when it has taken nothing for a while, or when there is no room for others: the one that has waited longest, of the address that
 * has too much.
 */
import type { Metrics } from '@omnibus/telemetry';

/** A response or a socket. */
export interface Outlet {
  readonly writableLength: number;
  readonly destroyed: boolean;
  once(event: 'drain' | 'finish' | 'close' | 'timeout', listener: () => void): this;
  off(event: 'drain' | 'finish' | 'close' | 'timeout', listener: () => void): this;
  /** Emits `timeout` after this time without a byte taken by the network; 0 ends that. */
  setTimeout(milliseconds: number): unknown;
  destroy(): unknown;
}

export interface UnreadOptions {
  /** Bytes of one address, and in total. */
  readonly maxShare: number;
  readonly maxTotal: number;
  readonly metrics: Pick<Metrics, 'slowReaders'>;
  /** Milliseconds without progress after which a client counts as not reading. Default: half a minute. */
  readonly stallMs?: number;
}

interface Waiting {
  readonly address: string;
  bytes: number;
  readonly forget: () => void;
}

/** Bytes below which waiting data is ignored: they are usually taken at once, and the number of sockets is bounded. */
export const smallBytes = 64 * 1024;
/** Longer than the network needs to recover from lost packets. */
const defaultStallMs = 30_000;

export class Unread {
  readonly #options: UnreadOptions;
  /** Outlets with waiting data, in the order in which they began to wait. */
  readonly #waiting = new Map<Outlet, Waiting>();
  readonly #shares = new Map<string, number>();
  #total = 0;

  constructor(options: UnreadOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#total;
  }

  /** Has to be called after every write. @param client asked for the key of its address only when much is waiting. */
  wrote(outlet: Outlet, client: { address(): string }): void {
    const bytes = outlet.writableLength;
    const waiting = this.#waiting.get(outlet);
    if (waiting === undefined && (bytes <= smallBytes || outlet.destroyed)) return;
    this.#count(waiting ?? this.#begin(outlet, client.address()), bytes);
    this.#makeRoom(outlet, waiting?.address ?? client.address());
  }

  /** Disconnects a client that does not read. */
  cutOff(outlet: Outlet): void {
    this.#waiting.get(outlet)?.forget();
    if (outlet.destroyed) return; // It was disconnected before.
    this.#options.metrics.slowReaders.inc();
    outlet.destroy();
  }

  #begin(outlet: Outlet, address: string): Waiting {
    const drained = (): void => {
      forget();
      outlet.setTimeout(0);
    };
    const stalled = (): void => this.cutOff(outlet);
    const forget = (): void => {
      this.#count(waiting, 0);
      this.#waiting.delete(outlet);
      outlet.off('drain', drained).off('finish', forget).off('close', forget).off('timeout', stalled);
    };
    const waiting: Waiting = { address, bytes: 0, forget };
    this.#waiting.set(outlet, waiting);
    outlet.once('drain', drained).once('finish', forget).once('close', forget).once('timeout', stalled);
    outlet.setTimeout(this.#options.stallMs ?? defaultStallMs);
    return waiting;
  }

  #count(waiting: Waiting, bytes: number): void {
    const more = bytes - waiting.bytes;
    waiting.bytes = bytes;
    this.#total += more;
    const share = (this.#shares.get(waiting.address) ?? 0) + more;
    if (share > 0) this.#shares.set(waiting.address, share);
    else this.#shares.delete(waiting.address);
  }

  #makeRoom(latest: Outlet, address: string): void {
    const { maxShare, maxTotal } = this.#options;
    while ((this.#shares.get(address) ?? 0) > maxShare) this.cutOff(this.#longest(address, latest));
    while (this.#total > maxTotal) {
      let [greediest, most] = [address, 0];
      for (const [other, share] of this.#shares) if (share > most) [greediest, most] = [other, share];
      this.cutOff(this.#longest(greediest, latest));
    }
  }

  /** The outlet of an address that has waited longest; `latest` only if there is no other. */
  #longest(address: string, latest: Outlet): Outlet {
    for (const [outlet, waiting] of this.#waiting) if (waiting.address === address && outlet !== latest) return outlet;
    return latest;
  }
}
