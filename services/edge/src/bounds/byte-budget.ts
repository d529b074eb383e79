/** Bounds the bytes of unfinished bodies, for each address and in total. */
export interface ByteBudgetOptions {
  readonly maxTotal: number;
  readonly maxShare: number;
}

/** Beginning of a body that counts toward the total only, so that small bodies pass while another client of the address sends large ones. */
export const smallBytes = 64 * 1024;
/** Part of the total that is reserved for small bodies. */
const smallPart = 1 / 4;

export class ByteBudget {
  readonly #maxTotal: number;
  readonly #maxShare: number;
  /** Bytes by address, without addresses that hold none. */
  readonly #shares = new Map<string, number>();
  #total = 0;

  constructor({ maxTotal, maxShare }: ByteBudgetOptions) {
    this.#maxTotal = maxTotal;
    this.#maxShare = maxShare;
  }

  get used(): number {
    return this.#total;
  }

  lease(address: string): ByteLease {
    return new ByteLease(
      (bytes, large) => this.#take(address, bytes, large),
      (bytes, large) => this.#give(address, bytes, large),
    );
  }

  #take(address: string, bytes: number, large: number): boolean {
    const share = this.#shares.get(address) ?? 0;
    const room = large > 0 ? this.#maxTotal * (1 - smallPart) : this.#maxTotal;
    if (this.#total + bytes > room || (large > 0 && share + large > this.#maxShare)) return false;
    this.#total += bytes;
    if (large > 0) this.#shares.set(address, share + large);
    return true;
  }

  #give(address: string, bytes: number, large: number): void {
    this.#total -= bytes;
    const share = (this.#shares.get(address) ?? 0) - large;
    if (share > 0) this.#shares.set(address, share);
    else this.#shares.delete(address);
  }
}

type Count = (bytes: number, large: number) => void;

/** The bytes of one body. */
export class ByteLease {
  readonly #take: (bytes: number, large: number) => boolean;
  readonly #give: Count;
  #bytes = 0;

  constructor(take: (bytes: number, large: number) => boolean, give: Count) {
    this.#take = take;
    this.#give = give;
  }

  /** Adds bytes. @returns false when there is no room; then nothing was added. */
  add(bytes: number): boolean {
    const large = largeOf(this.#bytes + bytes) - largeOf(this.#bytes);
    if (!this.#take(bytes, large)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Gives bytes back. @returns the number that is left. */
  forget(bytes: number): number {
    const left = Math.max(0, this.#bytes - bytes);
    this.#give(this.#bytes - left, largeOf(this.#bytes) - largeOf(left));
    this.#bytes = left;
    return left;
  }

  /** Gives everything back. */
  release(): void {
    this.forget(this.#bytes);
  }
}

function largeOf(bytes: number): number {
  return Math.max(0, bytes - smallBytes);
}
