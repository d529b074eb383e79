/**
 * What users have allowed and taken back. Access tokens are not asked about anywhere, so each edge has to know: the bucket is watched, and
 * what stands in it is remembered for as long as a token of it may live.
 */
import { hash } from 'node:crypto';
import { authorizationBuckets, type Bus, type KeyValue, type Watch } from '@omnibus/bus';

/** Clocks of edges differ. */
const toleranceMs = 60_000;

/**
 * @param accessTokenMs how long an access token lives.
 * @param counted is called for what is revoked here, and not for what others have revoked.
 */
export async function openRevocations(bus: Bus, accessTokenMs: number, counted?: () => void): Promise<Revocations> {
  return Revocations.open(await bus.keyValue<string>(authorizationBuckets.revoked), accessTokenMs + toleranceMs, counted);
}

export class Revocations {
  readonly #bucket: KeyValue<string>;
  readonly #tokenMs: number;
  readonly #counted: () => void;
  /** By grant, until when a token of it may live; the one that came first is first. Bounded by the bytes of the bucket. */
  readonly #revoked = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #watch: Watch | undefined;

  /**
   * @param tokenMs how long an access token lives, with what clocks may differ.
   * @param counted is called for what is revoked here, and not for what others have revoked.
   */
  static async open(bucket: KeyValue<string>, tokenMs: number, counted: () => void = () => undefined): Promise<Revocations> {
    const revocations = new Revocations(bucket, tokenMs, counted);
    revocations.#watch = await bucket.watch((change) => {
      if (change.kind === 'put') revocations.#add(change.key, Number(change.value));
    });
    return revocations;
  }

  private constructor(bucket: KeyValue<string>, tokenMs: number, counted: () => void) {
    this.#counted = counted;
    this.#bucket = bucket;
    this.#tokenMs = tokenMs;
  }

  /** What stands for a grant in tokens, and here. */
  static nameOf(grantId: string): string {
    return hash('sha256', `grant ${grantId}`, 'base64url').slice(0, 32);
  }

  /** @param name of `nameOf`. */
  has(name: string): boolean {
    return this.#revoked.has(name);
  }

  /** Whether a grant was revoked, wherever and however long ago. */
  async wasRevoked(grantId: string): Promise<boolean> {
    const name = Revocations.nameOf(grantId);
    return this.#revoked.has(name) || (await this.#bucket.get(name)) !== undefined;
  }

  async revoke(grantId: string): Promise<void> {
    const now = Date.now();
    await this.#bucket.put(Revocations.nameOf(grantId), String(now));
    this.#counted();
    this.#add(Revocations.nameOf(grantId), now);
  }

  onRevoked(listener: () => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#watch?.close();
  }

  #add(name: string, at: number): void {
    const now = Date.now();
    for (const [each, until] of this.#revoked) {
      if (until > now) break;
      this.#revoked.delete(each);
    }
    // A clock of another machine, or a value that is none, does not make it shorter.
    const until = Math.max(now, Number.isFinite(at) ? Math.min(at, now) : now) + this.#tokenMs;
    if (this.#revoked.has(name)) return;
    this.#revoked.set(name, until);
    for (const listener of this.#listeners) listener();
  }
}
