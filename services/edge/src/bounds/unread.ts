/**
 * Answers that clients have not taken from us yet, however they travel. Somebody who reads takes what is large in moments; who does
 * not is cut off, when it takes nothing for a while or when there is no room for others any more: the one that waits longest first,
 * of the address that has too much.
 */
import type { Metrics } from '@omnibus/telemetry';

/** A response or a socket. */
export interface Outlet {
  readonly writableLength: number;
  readonly destroyed: boolean;
  once(event: 'drain' | 'finish' | 'close' | 'timeout', listener: () => void): this;
  off(event: 'drain' | 'finish' | 'close' | 'timeout', listener: () => void): this;
  /** Without a byte taken by the network in so many milliseconds, `timeout` is emitted; 0 takes it back. */
  setTimeout(milliseconds: number): unknown;
  destroy(): unknown;
}

export interface UnreadOptions {
  /** Bytes of one address, and of all. */
  readonly maxShare: number;
  readonly maxTotal: number;
  readonly metrics: Pick<Metrics, 'slowReaders'>;
  /** Milliseconds without a byte taken after which a client does not read; left out, half a minute. */
  readonly stallMs?: number;
}

interface Waiting {
  readonly address: string;
  bytes: number;
  readonly forget: () => void;
}

/** What is smaller lies with the network or is there in a moment; sockets are bounded in number. */
const smallBytes = 64 * 1024;
/** A client that takes nothing for so long does not read: a network that has lost a packet is back long before. */
const defaultStallMs = 30_000;

export class Unread {
  readonly #options: UnreadOptions;
  /** In the order in which they began to wait. */
  readonly #waiting = new Map<Outlet, Waiting>();
  readonly #shares = new Map<string, number>();
  #total = 0;

  constructor(options: UnreadOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#total;
  }

  /** To be called when something was written. @param addressOf asked for only when much waits. */
  wrote(outlet: Outlet, addressOf: () => string): void {
    const bytes = outlet.writableLength;
    const waiting = this.#waiting.get(outlet);
    if (waiting === undefined && (bytes <= smallBytes || outlet.destroyed)) return;
    this.#count(waiting ?? this.#begin(outlet, addressOf()), bytes);
    this.#makeRoom(outlet, waiting?.address ?? addressOf());
  }

  /** Cuts a client off that does not read. */
  cutOff(outlet: Outlet): void {
    this.#waiting.get(outlet)?.forget();
    if (outlet.destroyed) return; // It was cut off before.
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

  /** The outlet of an address that waits longest, the latest one only when there is no other. */
  #longest(address: string, latest: Outlet): Outlet {
    for (const [outlet, waiting] of this.#waiting) if (waiting.address === address && outlet !== latest) return outlet;
    return latest;
  }
}
