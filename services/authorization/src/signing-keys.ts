/**
 * The keys that sign tokens. The first edge makes one, all keep them encrypted in the store, and all follow changes. A new key is published before it
 * signs, and an old one stays as long as a token signed with it may be valid.
 */
import { generateKeyPairSync, randomBytes, type JsonWebKey } from 'node:crypto';
import { changeValue, type KeyValue, type Watch } from '@omnibus/bus';
import type { Secrets } from './secrets.ts';

const hourMs = 3_600_000;
/** How long a key is published before it signs, so that verifiers which cache keys for an hour have it by then. */
const publishedMs = hourMs;
const rotateMs = 30 * 24 * hourMs;
/** Lifetime of a key after it has stopped signing; longer than any token is valid. */
const keptMs = 24 * hourMs;
const place = 'omnibus-oauth-keys ring';
const ringKey = 'ring';

export interface SigningKey {
  readonly kid: string;
  /** The key with its private part. */
  readonly jwk: JsonWebKey;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Set for a key that signs at once: `createdAt` is so much earlier that it counts as published long enough. */
  readonly isAtOnce?: true;
}

/** A key as administrators see it. */
interface KeyState {
  readonly id: string;
  readonly created: string;
  readonly state: string;
  readonly at?: string;
}

export interface SigningKeysOptions {
  readonly bucket: KeyValue<string>;
  readonly secrets: Secrets;
  /** Called when another key signs, or other keys are accepted. */
  readonly changed: () => void;
  readonly now?: () => number;
}

export class SigningKeys {
  readonly #options: SigningKeysOptions;
  readonly #now: () => number;
  #ring: readonly SigningKey[] = [];
  #watch: Watch | undefined;
  /** Ids of the known keys, in order, for noticing changes. */
  #known = '';

  static async open(options: SigningKeysOptions): Promise<SigningKeys> {
    const keys = new SigningKeys(options);
    await keys.renew();
    keys.#watch = await options.bucket.watch((change) => {
      const ring = change.kind === 'put' ? keys.#read(change.value) : undefined;
      if (ring !== undefined) keys.#take(ring);
    });
    return keys;
  }

  private constructor(options: SigningKeysOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** All keys; the one that signs comes first. */
  get all(): readonly SigningKey[] {
    const newest = byAge(this.#ring);
    const signing = signingOf(newest, this.#now());
    return signing === undefined ? [] : [signing, ...newest.filter((key) => key !== signing)];
  }

  /** The keys for administrators, with the times at which they begin or stop. The newest comes first. */
  get states(): readonly KeyState[] {
    const now = this.#now();
    const newest = byAge(this.#ring);
    const isSigning = newest.findIndex((key) => key === signingOf(newest, now));
    return newest.map(({ kid, createdAt, isAtOnce }, index) => ({
      id: kid,
      created: new Date(Math.min(createdAt + (isAtOnce === true ? publishedMs : 0), now)).toISOString(),
      ...(index === isSigning
        ? { state: 'signing' }
        : index < isSigning
          ? { state: 'next', at: signsFrom(newest[index] as SigningKey) }
          : {
              state: 'kept',
              at: new Date((newest[index - 1] as SigningKey).createdAt + publishedMs + keptMs).toISOString(),
            }),
    }));
  }

  /**
   * Makes another key.
   * @param isAtOnce whether it signs now, and the others are removed, which ends all tokens. Else it signs when it was published long enough.
   * @throws {Error} in words for the operator: of the kind `conflict` if another edge has made the next key already; of none if this process cannot change the keys.
   */
  async rotate(isAtOnce: boolean): Promise<void> {
    const now = this.#now();
    const key: SigningKey = isAtOnce ? { ...made(now - publishedMs), isAtOnce } : made(now);
    const isChanged = await this.#change((ring) => {
      if (isAtOnce) return [key];
      const [newest] = byAge(ring);
      if (newest !== undefined && newest !== signingOf(byAge(ring), now))
        throw Object.assign(new Error(`the next key is published already, and signs from ${signsFrom(newest)} on`), {
          kind: 'conflict',
        });
      return [key, ...ring];
    });
    if (!isChanged)
      throw new Error('the signing keys are encrypted with a sealing key that this process does not have; restart it');
  }

  /** Creates a key when the newest one is too old, removes old ones, and encrypts all with the first sealing key; to be called from time to time. */
  async renew(): Promise<void> {
    await this.#change((ring) => this.#renewed(ring));
  }

  /**
   * Changes the keys of all edges.
   * @param make called again with the keys that another edge has written meanwhile; what it throws ends the change.
   * @returns whether this process could read the keys.
   */
  async #change(make: (ring: readonly SigningKey[]) => readonly SigningKey[]): Promise<boolean> {
    const { bucket, secrets } = this.#options;
    let next: readonly SigningKey[] | undefined;
    await changeValue(bucket, ringKey, (sealed) => {
      const found = sealed === undefined ? [] : this.#read(sealed);
      // They are encrypted with a sealing key that this process gets with its restart. Until then it uses the keys that it has.
      next = undefined;
      if (found === undefined && this.#ring.length > 0) return sealed;
      const ring = found ?? [];
      next = make(ring);
      // Later, no process needs the older sealing key for them. Not at a start, when others may wait for their restart, in which they get the new one.
      const isOutdated = sealed !== undefined && this.#ring.length > 0 && !secrets.isUpToDate(place, sealed);
      return next === ring && !isOutdated ? sealed : secrets.seal(place, JSON.stringify(next));
    });
    if (next === undefined) return false;
    this.#take(next);
    return true;
  }

  close(): void {
    this.#watch?.close();
  }

  #renewed(ring: readonly SigningKey[]): readonly SigningKey[] {
    const now = this.#now();
    const newest = byAge(ring);
    const isOld = newest[0] === undefined || newest[0].createdAt <= now - rotateMs;
    // A key has stopped signing when its successor was published long enough.
    const needed = newest.filter(
      (_key, index) => index === 0 || (newest[index - 1] as SigningKey).createdAt > now - publishedMs - keptMs,
    );
    if (!isOld && needed.length === ring.length) return ring;
    return isOld ? [made(now), ...needed] : needed;
  }

  #read(sealed: string): readonly SigningKey[] | undefined {
    const text = this.#options.secrets.open(place, sealed);
    return text === undefined ? undefined : (JSON.parse(text) as readonly SigningKey[]);
  }

  #take(ring: readonly SigningKey[]): void {
    this.#ring = ring;
    const known = this.all.map(({ kid }) => kid).join(' ');
    if (known === this.#known) return;
    this.#known = known;
    this.#options.changed();
  }
}

/** The keys, the newest first. */
const byAge = (ring: readonly SigningKey[]): readonly SigningKey[] =>
  ring.toSorted((a, b) => b.createdAt - a.createdAt);

/** Of keys in the order of `byAge`, the newest one that is published long enough, else the oldest. */
const signingOf = (newest: readonly SigningKey[], now: number): SigningKey | undefined =>
  newest.find(({ createdAt }) => createdAt <= now - publishedMs) ?? newest.at(-1);

const signsFrom = ({ createdAt }: SigningKey): string => new Date(createdAt + publishedMs).toISOString();

function made(now: number): SigningKey {
  const kid = randomBytes(12).toString('base64url');
  return {
    kid,
    createdAt: now,
    jwk: {
      ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
      kid,
      use: 'sig',
      alg: 'ES256',
    },
  };
}
