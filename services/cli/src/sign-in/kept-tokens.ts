/** The tokens of this user for gateways, by the address of the gateway, in a file that only its owner can read. */
import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { renameDurably, writeDurably } from '@omnibus/credentials/durable';
import { FileLock } from '@omnibus/credentials/file-lock';
import { objectIn } from '@omnibus/protocol';
import { z } from 'zod';
import { CommandProblem } from '@omnibus/client';

const kept = z.object({
  issuer: z.string(),
  clientId: z.string(),
  clientSecret: z.string().optional(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Milliseconds since 1970; undefined where the issuer did not say. */
  expiresAt: z.number().optional(),
  scope: z.string().optional(),
});
const file = z.object({ gateways: z.record(z.string(), kept).default({}) });

export type Kept = z.output<typeof kept>;

/**
 * The key of a gateway's tokens: one for each gateway, in any spelling of its address.
 * @param where the source of the address, such as "--connect: ", for the message.
 * @throws {CommandProblem} when it is none.
 */
export function gatewayAddress(typed: string, where = ''): string {
  const url = URL.canParse(typed) ? new URL(typed) : undefined;
  // What may be a password is not repeated.
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CommandProblem(
      'usage',
      `${where}expected the address of a gateway, such as https://mcp.example.com/mcp${typed.includes('@') ? '' : `, not ${JSON.stringify(typed)}`}`,
    );
  if (url.username !== '' || url.password !== '')
    throw new CommandProblem(
      'usage',
      `${where}the address has a user name or password in it, which no gateway takes there; leave it out`,
    );
  url.hash = '';
  return url.href.replace(/\/$/, '');
}

export class KeptTokens {
  readonly path: string;

  /** @param path of the file; default: `OMNIBUS_TOKENS`, or `omnibus/tokens.json` in the folder of the user's settings. */
  constructor(
    path: string | undefined,
    { OMNIBUS_TOKENS: named, XDG_CONFIG_HOME: home }: NodeJS.ProcessEnv = process.env,
  ) {
    this.path =
      path !== undefined
        ? resolve(path)
        : named !== undefined && named !== ''
          ? resolve(named)
          : join(home ?? join(homedir(), '.config'), 'omnibus', 'tokens.json');
  }

  /** @returns the tokens for a gateway; undefined where there are none. @throws {Error} in words, when the address is none or the file cannot be read. */
  find(url: string): Kept | undefined {
    return this.#read()[gatewayAddress(url)];
  }

  /**
   * Changes the tokens for a gateway under the lock of the file; a symbolic link to it stays one.
   * @param make returns the new tokens, or undefined to remove them.
   * @returns what `make` returned.
   * @throws {Error} in words.
   */
  async change(url: string, make: (before: Kept | undefined) => Promise<Kept | undefined>): Promise<Kept | undefined> {
    const address = gatewayAddress(url);
    const target = existsSync(this.path) ? realpathSync(this.path) : this.path;
    const lock = await this.#lock(target);
    const release = lock.keep();
    try {
      const before = this.#read()[address];
      const after = await make(before);
      if (after === before) return after;
      // Waits for a process that took the lock while this machine slept: the new tokens must not be lost.
      if (lock.isHeld) this.#write(target, address, after);
      else await this.change(url, () => Promise.resolve(after));
      return after;
    } finally {
      release();
      lock.leave();
    }
  }

  /** Finds out whether tokens can be stored, before the sign-in. @throws {Error} in words. */
  async prepare(url: string): Promise<void> {
    await this.change(url, (before) => Promise.resolve(before));
  }

  #write(target: string, address: string, after: Kept | undefined): void {
    const gateways = { ...this.#read(), [address]: after };
    const written = `${target}.new`;
    this.#inWords('written', () => {
      writeDurably(written, `${JSON.stringify({ gateways }, null, 2)}\n`);
      renameDurably(written, target);
    });
  }

  #read(): Readonly<Record<string, Kept>> {
    const text = this.#inWords('read', () => {
      try {
        return readFileSync(this.path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    });
    if (text === undefined) return {};
    const parsed = file.safeParse(objectIn(text));
    if (!parsed.success) throw new Error(`${this.path} is no file of tokens; remove it, and sign in again`);
    return parsed.data.gateways;
  }

  async #lock(target: string): Promise<FileLock> {
    this.#inWords('written', () => mkdirSync(dirname(target), { recursive: true, mode: 0o700 }));
    try {
      return await FileLock.take(`${target}.lock`);
    } catch (error) {
      return this.#inWords('written', () => {
        throw error;
      });
    }
  }

  #inWords<Made>(done: string, work: () => Made): Made {
    try {
      return work();
    } catch (error) {
      throw new Error(
        `${this.path} cannot be ${done}: ${(error as NodeJS.ErrnoException).code === 'EISDIR' ? 'it is a folder' : (error as Error).message}`,
        { cause: error },
      );
    }
  }
}
