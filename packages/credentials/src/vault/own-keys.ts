/**
 * Keys that a gateway of one process makes itself: in the keychain of its user where there is one, else in a file beside that of the vault. Several gateways of one
 * user use the same keys. The file names the entry of the keychain that has them, so a version that knows no keychain refuses it instead of making other keys.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { renameDurably, syncFolder, writeDurably } from './durable.ts';
import { FileLock } from './file-lock.ts';
import { parseVaultKeys, type KeyRing, type VaultKeys } from './key-ring.ts';
import type { Resealed, Vault } from './vault.ts';
import { keychainOf, type Keychain } from './keychain.ts';

const newLine = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const newId = (): string => `own-${new Date().toISOString().slice(0, 10)}-${randomBytes(3).toString('hex')}`;
const pointer = /^keychain:([\w-]{1,60})$/;

interface Kept {
  readonly lines: readonly string[];
  /** Name of the entry of the keychain; undefined where all keys are in the file. */
  readonly account: string | undefined;
}

export class OwnKeys {
  readonly #path: string;
  readonly #find: (account: string) => Keychain | undefined;
  /** The keys of the keychain, as they were read last. */
  #chain: readonly string[] = [];

  /** @param vault file of the vault, beside which that of the keys is; a symbolic link to it stays one. @param find opens an entry of the keychain. */
  constructor(vault: string, find: (account: string) => Keychain | undefined = keychainOf) {
    const path = vault.replace(/(\.json)?$/, '.key');
    this.#path = existsSync(path) ? realpathSync(path) : path;
    this.#find = find;
  }

  /** Whether the keys are in the keychain. */
  get areInKeychain(): boolean {
    const { account, lines } = this.#kept();
    return account !== undefined && lines.length === 0;
  }

  /**
   * Reads the keys, and makes one where there is none. Where the keychain that has them cannot be opened now, it makes another key, and those stay.
   * @param mayMove whether keys in the file are moved to the keychain.
   * @throws {Error} in words for the operator.
   */
  async open(mayMove: boolean): Promise<VaultKeys> {
    if (!existsSync(this.#path)) {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      const written = this.#newFile;
      try {
        this.#write({ lines: [newLine('own')], account: undefined });
        linkSync(written, this.#path);
        syncFolder(dirname(this.#path));
      } catch (error) {
        // Another gateway has made a key at the same time; that one is used.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      } finally {
        rmSync(written, { force: true });
      }
    }
    const { account, lines } = this.#kept();
    // The keychain may ask the user for its password: not while others wait for the lock.
    const entry = account === undefined ? undefined : await this.#find(account)?.read();
    if (entry !== undefined) this.#chain = linesOf(entry);
    else if (lines.length === 0)
      await this.#change((kept) => (kept.lines.length > 0 ? kept : { ...kept, lines: [newLine(newId())] }));
    if (mayMove && (account === undefined || entry !== undefined)) await this.#move();
    return this.#keys();
  }

  /** @returns undefined when they cannot be read now: the previous keys stay. */
  read(): VaultKeys | undefined {
    try {
      const { account } = this.#kept();
      const entry = account === undefined ? undefined : this.#find(account)?.readNow();
      if (entry !== undefined) this.#chain = linesOf(entry);
      return this.#keys();
    } catch {
      return undefined;
    }
  }

  /** Adds a key, encrypts everything under it, and removes the keys under which nothing is encrypted any more. */
  async rotate(ring: KeyRing, vault: Vault): Promise<Resealed & { readonly key: string }> {
    const id = newId();
    const isInKeychain = this.areInKeychain;
    await this.#change((kept) => ({ ...kept, lines: [newLine(id), ...kept.lines] }));
    if (isInKeychain) await this.#move();
    ring.take(this.#keys());
    const done = await vault.rotate(id);
    const { keys, lost } = await vault.survey();
    const needed = new Set([id, ...keys.filter(({ entries }) => entries > 0).map((key) => key.id)]);
    if (lost.length === 0) {
      await this.#change((kept) => ({ ...kept, lines: kept.lines.filter((line) => needed.has(idOf(line))) }));
      await this.#keepInKeychain((line) => needed.has(idOf(line)));
    }
    return { ...done, key: id };
  }

  /** Moves the keys of the file to the keychain, if there is one. They stay in the file if they cannot be read again from there. */
  async #move(): Promise<void> {
    const { account = `vault-${randomBytes(6).toString('hex')}`, lines } = this.#kept();
    if (lines.length === 0) return;
    const all = [...lines, ...this.#chain.filter((line) => !lines.includes(line))];
    if ((await this.#find(account)?.write(all.join(' '))) !== true) return;
    // A key that another process has added to the file meanwhile stays in it.
    await this.#change((kept) =>
      kept.account === undefined || kept.account === account
        ? { account, lines: kept.lines.filter((line) => !all.includes(line)) }
        : kept,
    );
    this.#chain = all;
  }

  /** Removes keys from the keychain. */
  async #keepInKeychain(isNeeded: (line: string) => boolean): Promise<void> {
    const { account } = this.#kept();
    const left = this.#chain.filter((line) => isNeeded(line));
    if (account === undefined || left.length === 0 || left.length === this.#chain.length) return;
    if ((await this.#find(account)?.write(left.join(' '))) === true) this.#chain = left;
  }

  #keys(): VaultKeys {
    const { lines } = this.#kept();
    return parseVaultKeys([...lines, ...this.#chain.filter((line) => !lines.includes(line))]);
  }

  #kept(): Kept {
    const all = linesOf(readFileSync(this.#path, 'utf8'));
    return {
      lines: all.filter((line) => !pointer.test(line)),
      account: all.map((line) => pointer.exec(line)?.[1]).find((account) => account !== undefined),
    };
  }

  async #change(make: (kept: Kept) => Kept): Promise<void> {
    for (;;) {
      const lock = await FileLock.take(`${this.#path}.lock`);
      const written = this.#newFile;
      try {
        this.#write(make(this.#kept()));
        // Another process may have removed the lock as abandoned; then this one repeats the change on the other's state.
        if (!lock.isHeld) continue;
        renameDurably(written, this.#path);
        return;
      } finally {
        rmSync(written, { force: true });
        lock.leave();
      }
    }
  }

  get #newFile(): string {
    return `${this.#path}.${process.pid}.new`;
  }

  #write({ lines, account }: Kept): void {
    const all = [...lines, ...(account === undefined ? [] : [`keychain:${account}`])];
    writeDurably(this.#newFile, `${all.join('\n')}\n`);
  }
}

function linesOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((line) => line !== '');
}

function idOf(line: string): string {
  return line.split(':', 1)[0] ?? '';
}
