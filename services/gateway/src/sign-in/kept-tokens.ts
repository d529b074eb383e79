/** The tokens of this user for gateways, by the address of the gateway, in a file that only its owner can read. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { FileLock } from '@omnibus/credentials/file-lock';
import { z } from 'zod';

const kept = z.object({
  issuer: z.string(), clientId: z.string(), clientSecret: z.string().optional(),
  accessToken: z.string(), refreshToken: z.string().optional(),
  /** Milliseconds since 1970; undefined where the issuer did not say. */
  expiresAt: z.number().optional(),
  scope: z.string().optional(),
});
const file = z.object({ gateways: z.record(z.string(), kept).default({}) });

export type Kept = z.output<typeof kept>;

/** Milliseconds after which a lock counts as left behind: longer than it takes to refresh tokens at an issuer that answers at the last moment (`sign-in.ts`). */
const staleMs = 90_000;

export class KeptTokens {
  readonly path: string;

  /** @param path of the file; default: `OMNIBUS_TOKENS`, or `omnibus/tokens.json` in the folder of the user's settings. */
  constructor(path: string | undefined, { OMNIBUS_TOKENS: named, XDG_CONFIG_HOME: home }: NodeJS.ProcessEnv = process.env) {
    this.path = path !== undefined ? resolve(path) : named !== undefined && named !== '' ? resolve(named) : join(home ?? join(homedir(), '.config'), 'omnibus', 'tokens.json');
  }

  /** @returns the tokens for a gateway; undefined where there are none. @throws {Error} in words, when the file cannot be read. */
  find(url: string): Kept | undefined {
    return this.#read()[url];
  }

  /** Changes the tokens for a gateway under the lock of the file. @param make returns the new tokens, or undefined to remove them. @returns what `make` returned. */
  async change(url: string, make: (before: Kept | undefined) => Promise<Kept | undefined>): Promise<Kept | undefined> {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const lock = await FileLock.take(`${this.path}.lock`, staleMs).catch((error: unknown) => {
      throw new Error(`${this.path} cannot be written: ${(error as Error).message}`, { cause: error });
    });
    try {
      const before = this.#read()[url];
      const after = await make(before);
      if (after !== before) {
        const { [url]: _gone, ...others } = this.#read();
        const written = `${this.path}.new`;
        rmSync(written, { force: true });
        writeFileSync(written, `${JSON.stringify({ gateways: after === undefined ? others : { ...others, [url]: after } }, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
        renameSync(written, this.path);
      }
      return after;
    } finally {
      lock.leave();
    }
  }

  #read(): Readonly<Record<string, Kept>> {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new Error(`${this.path} cannot be read: ${String(error)}`, { cause: error });
    }
    const parsed = file.safeParse(parseText(text));
    if (!parsed.success) throw new Error(`${this.path} is no file of tokens; remove it, and sign in again`);
    return parsed.data.gateways;
  }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The schema refuses that.
  }
}
