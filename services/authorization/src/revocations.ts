/**
 * The revoked consents. Access tokens are verified without a request to the authorization server, so each edge must have the revocations itself: it
 * watches the bucket, and remembers each revocation for as long as a token of it may be valid.
 */
import { hash } from 'node:crypto';
import { authorizationBuckets, type Bus, type KeyValue, type Watch } from '@omnibus/bus';

/** Tolerance for the clocks of different edges. */
const toleranceMs = 60_000;

/**
 * @param accessTokenMs how long an access token is valid.
 * @param counted is called for revocations made here, not for those of other processes.
 */
export async function openRevocations(bus: Bus, accessTokenMs: number, counted?: () => void): Promise<Revocations> {
  return Revocations.open(
    await bus.keyValue<string>(authorizationBuckets.revoked),
    accessTokenMs + toleranceMs,
    counted,
  );
}

export class Revocations {
  readonly #bucket: KeyValue<string>;
  readonly #tokenMs: number;
  readonly #counted: () => void;
  /** For each grant, until when a token of it may be valid; the oldest comes first. Bounded by the bytes of the bucket. */
  readonly #revoked = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #watch: Watch | undefined;

  /**
   * @param tokenMs how long an access token is valid, plus the tolerance for clocks.
   * @param counted is called for revocations made here, not for those of other processes.
   */
  static async open(
    bucket: KeyValue<string>,
    tokenMs: number,
    counted: () => void = () => undefined,
  ): Promise<Revocations> {
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

  /** The name of a grant in tokens and in the bucket. */
  static nameOf(grantId: string): string {
    return hash('sha256', `grant ${grantId}`, 'base64url').slice(0, 32);
  }

  /** @param name as `nameOf` gives it. */
  has(name: string): boolean {
    return this.#revoked.has(name);
  }

  /** Whether a grant was revoked by any process at any time. */
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
    // A wrong clock of another machine, or an invalid value, must not shorten the time.
    const until = Math.max(now, Number.isFinite(at) ? Math.min(at, now) : now) + this.#tokenMs;
    if (this.#revoked.has(name)) return;
    this.#revoked.set(name, until);
    for (const listener of this.#listeners) listener();
  }
}
