/**
 * The keys of the vault, each with a name. All of them decrypt; one encrypts: the one that the store names as current. Processes may get a new key at
 * different times, so they encrypt under a key that all of them have until the operator switches to the new one (`Vault.rotate`).
 */
import { createHmac } from 'node:crypto';

const keyBytes = 32;
/** Many reads may fail for the same missing key; its source is read again at most this often. */
const rereadMs = 1_000;

export interface VaultKey {
  readonly id: string;
  readonly key: Buffer;
}

/** The newest key comes first. */
export type VaultKeys = readonly [VaultKey, ...VaultKey[]];

/** The public data of a key: its name, and a digest that distinguishes two keys with the same name. */
export interface KeyName {
  readonly id: string;
  readonly check: string;
}

/** @param lines `NAME:BASE64`, the newest first. @throws {Error} with a message that contains no part of a key. */
export function parseVaultKeys(lines: readonly string[]): VaultKeys {
  const keys = lines.map((line, index) => {
    const [, id, text = ''] = /^([\w.-]{1,40}):([A-Za-z0-9+/_-]+={0,2})$/.exec(line.trim()) ?? [];
    const key = Buffer.from(text, 'base64');
    if (id === undefined || key.length < keyBytes)
      throw new Error(
        `key ${index + 1} of the vault is not NAME:BASE64 of ${keyBytes} random bytes (openssl rand -base64 ${keyBytes})`,
      );
    return { id, key: key.subarray(0, keyBytes) };
  });
  const [first, ...more] = keys;
  if (first === undefined) throw new Error('the vault has no key');
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('two keys of the vault have one name');
  return [first, ...more];
}

/** The key cannot be derived from the digest, since it has 256 random bits. */
const nameOf = ({ id, key }: VaultKey): KeyName => ({
  id,
  check: createHmac('sha256', key).update('omnibus vault key').digest('base64url').slice(0, 16),
});

export class KeyRing {
  #keys: VaultKeys;
  /** Name of the key that the store names as current. */
  #current: string | undefined;
  readonly #reread: (() => VaultKeys | undefined) | undefined;
  #rereadAt = -Infinity;

  /** @param reread reads the keys from their source again, for a key that another process has added; it does not throw. */
  constructor(keys: VaultKeys, reread?: () => VaultKeys | undefined) {
    this.#keys = keys;
    this.#reread = reread;
  }

  /** The key that encrypts: the current one, or, where this process does not have that, its newest. */
  get sealing(): VaultKey {
    return this.#keys.find(({ id }) => id === this.#current) ?? this.#keys[0];
  }

  /** Name of the current key; undefined when the store names none. */
  get current(): string | undefined {
    return this.#current;
  }

  get names(): readonly KeyName[] {
    return this.#keys.map(nameOf);
  }

  /** The key that was added last. */
  get newest(): KeyName {
    return nameOf(this.#keys[0]);
  }

  find(id: string): VaultKey | undefined {
    const known = this.#keys.find((each) => each.id === id);
    if (known !== undefined || this.#reread === undefined || Date.now() - this.#rereadAt < rereadMs) return known;
    this.#rereadAt = Date.now();
    this.take(this.#reread() ?? this.#keys);
    return this.#keys.find((each) => each.id === id);
  }

  /** Replaces the keys by those of a changed configuration. */
  take(keys: VaultKeys): void {
    this.#keys = keys;
  }

  /** Encrypts under that key from now on, as soon as this process has it. */
  turnTo(id: string): void {
    this.#current = id;
    this.find(id);
  }
}
