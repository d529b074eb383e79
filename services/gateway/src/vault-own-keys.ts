/** Keys that a gateway of one process makes itself, in a file beside that of the vault. Several gateways of one user use the same file. */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FileLock, parseVaultKeys, type KeyRing, type Resealed, type Vault, type VaultKeys } from '@omnibus/credentials';

const newLine = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

export class OwnKeys {
  readonly #path: string;

  /** @param vault file of the vault. */
  constructor(vault: string) {
    this.#path = vault.replace(/(\.json)?$/, '.key');
  }

  /** Reads the keys, and makes one where there is none. @throws {Error} in words for the operator. */
  open(): VaultKeys {
    if (!existsSync(this.#path)) {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      const written = this.#write([newLine('own')]);
      try {
        linkSync(written, this.#path);
      } catch (error) {
        // Another gateway has made a key at the same time; that one is used.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      } finally {
        rmSync(written, { force: true });
      }
    }
    return parseVaultKeys(this.#lines());
  }

  /** @returns undefined when they cannot be read now: the previous keys stay. */
  read(): VaultKeys | undefined {
    try {
      return parseVaultKeys(this.#lines());
    } catch {
      return undefined;
    }
  }

  /** Adds a key, encrypts everything under it, and removes the keys under which nothing is encrypted any more. */
  async rotate(ring: KeyRing, vault: Vault): Promise<Resealed & { readonly key: string }> {
    const id = `own-${new Date().toISOString().slice(0, 10)}-${randomBytes(3).toString('hex')}`;
    await this.#change((lines) => [newLine(id), ...lines]);
    ring.take(parseVaultKeys(this.#lines()));
    const done = await vault.rotate(id);
    const { keys, lost } = await vault.survey();
    const needed = new Set([id, ...keys.filter(({ entries }) => entries > 0).map((key) => key.id)]);
    if (lost.length === 0) await this.#change((lines) => lines.filter((line) => needed.has(line.split(':', 1)[0]?.trim() ?? '')));
    return { ...done, key: id };
  }

  #lines(): string[] {
    return readFileSync(this.#path, 'utf8').split('\n').filter((line) => line.trim() !== '');
  }

  async #change(make: (lines: readonly string[]) => readonly string[]): Promise<void> {
    for (;;) {
      const lock = await FileLock.take(`${this.#path}.lock`);
      const written = this.#write(make(this.#lines()));
      try {
        // Another process may have removed the lock as abandoned; then the change is made again on the state that it has written.
        if (!lock.isHeld) continue;
        renameSync(written, this.#path);
        return;
      } finally {
        rmSync(written, { force: true });
        lock.leave();
      }
    }
  }

  #write(lines: readonly string[]): string {
    const written = `${this.#path}.${process.pid}.new`;
    writeFileSync(written, `${lines.join('\n')}\n`, { mode: 0o600 });
    return written;
  }
}
