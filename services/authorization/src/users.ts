/**
 * Users with passwords, in a file, for small installations without an OpenID provider. Passwords are stored as digests that take much memory to compute.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { followFiles, isName, noName, parseSecretYaml, unwrittenProblem } from '@omnibus/identity';
import { stringify } from 'yaml';
import { z } from 'zod';

const digest = promisify<
  string,
  Buffer,
  number,
  { readonly N: number; readonly r: number; readonly p: number; readonly maxmem: number },
  Buffer
>(scrypt);

/** One of OWASP's recommendations for scrypt (Password Storage Cheat Sheet): 32 MiB and a few tenths of a second each. */
const cost = { N: 2 ** 15, r: 8, p: 3 };
const digestBytes = 32;
/** Bytes that the computation of one digest may use, with a margin. */
const maxMemory = 256 * 1_024 * 1_024;
/** Digests that are computed at the same time; others wait. Each takes the memory above. */
const maxAtOnce = 2;
const maxWaiting = 64;
export const minPasswordCharacters = 10;
/** Bound on the password in a form; the digest of a longer one would cost no more. */
export const maxPasswordCharacters = 1_000;

const record = z.strictObject({
  name: z.string().regex(/^[\p{L}\p{N}._@+-]{1,128}$/u, { error: 'expected up to 128 letters, digits and ._@+-' }),
  password: z.string().regex(/^scrypt\$\d{1,2}\$\d{1,2}\$\d{1,2}\$[\w-]{22}\$[\w-]{43}$/, {
    error: 'expected what `omnibus users add` writes',
  }),
  groups: z
    .array(
      z
        .string()
        .min(1)
        .max(255)
        .refine(isName, { error: `this name ${noName}` }),
    )
    .max(200)
    .default([]),
  created: z.string().optional(),
  /** Tells a user from a later one of the same name; users of earlier versions have none. */
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/, { error: 'expected what `omnibus users add` writes' })
    .optional(),
  /** Time of the user's last change of the password. */
  passwordSince: z.string().optional(),
});
const file = z
  .strictObject({
    users: z
      .array(record)
      .max(10_000)
      .nullish()
      .transform((users) => users ?? []),
  })
  .refine(({ users }) => new Set(users.map(({ name }) => name)).size === users.length, {
    error: 'the same user is listed twice',
  });

export type UserRecord = z.output<typeof record>;

/** @throws {Error} in words. */
export function parseUsers(text: string): readonly UserRecord[] {
  const parsed = file.safeParse(parseSecretYaml(text) ?? {});
  if (parsed.success) return parsed.data.users;
  const [issue] = parsed.error.issues;
  throw new Error(
    `${issue === undefined || issue.path.length === 0 ? 'the file' : issue.path.join('.')}: ${issue?.message ?? 'it is not a file of users'}`,
  );
}

export function formatUsers(users: readonly UserRecord[]): string {
  return stringify({ users });
}

/** The least that scrypt takes, for tests in which a password has to be right and nothing depends on what it costs. */
export const leastCost: typeof cost = { N: 2, r: 1, p: 1 };

/**
 * The text that a file of users has of a password; it names its cost, so that a later cost changes nothing for users before.
 * @param price of each look at the password, in the parameters of scrypt (RFC 7914).
 */
export async function digestOf(password: string, price = cost): Promise<string> {
  const salt = randomBytes(16);
  const { N, r, p } = price;
  const made = await digest(password.normalize('NFKC'), salt, digestBytes, { N, r, p, maxmem: maxMemory });
  return `scrypt$${Math.log2(N)}$${r}$${p}$${salt.toString('base64url')}$${made.toString('base64url')}`;
}

/** A digest that is compared when there is no such user, so that both cases take the same time. */
const nobody = `scrypt$15$8$3$${'A'.repeat(22)}$${'A'.repeat(43)}`;

async function isRight(password: string, stored: string): Promise<boolean> {
  const [, n, r, p, salt = '', right = ''] = stored.split('$');
  const made = await digest(password.normalize('NFKC'), Buffer.from(salt, 'base64url'), digestBytes, {
    N: 2 ** Number(n),
    r: Number(r),
    p: Number(p),
    maxmem: maxMemory,
  });
  return timingSafeEqual(made, Buffer.from(right, 'base64url'));
}

export interface UsersObserver {
  /** Called with users that were removed, have a new password, or have given their name to another user; as they were before. */
  left(users: readonly UserRecord[]): void;
  /** Called when the file cannot be used as it is now, or is not followed; the previous users stay. */
  rejected(problem: string): void;
}

export class Users {
  readonly #file: string;
  readonly #observer: UsersObserver;
  #users: ReadonlyMap<string, UserRecord>;
  /** Milliseconds since 1970. */
  #readAt = 0;
  #unfollow: (() => Promise<void>) | undefined;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** @throws {Error} in words for the operator when the file cannot be read. */
  static async open(path: string, observer: UsersObserver): Promise<Users> {
    const users = new Users(path, observer);
    users.#unfollow = await followFiles([path], {
      changed: () => users.#reload(),
      unfollowed: (problem) => observer.rejected(problem),
    });
    return users;
  }

  private constructor(path: string, observer: UsersObserver) {
    this.#file = path;
    this.#observer = observer;
    this.#users = this.#read('at the start');
  }

  find(name: string): UserRecord | undefined {
    return this.#users.get(name);
  }

  names(): Iterable<string> {
    return this.#users.keys();
  }

  /**
   * Time of a user's present password, in milliseconds since 1970: an earlier sign-in may be of another person, or with a password that is no
   * longer good. It is never after the file was read, however the clocks differ. Undefined if the user's record does not have it.
   */
  since(name: string): number | undefined {
    const { created, passwordSince } = this.#users.get(name) ?? {};
    const times = [created, passwordSince].map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time));
    return times.length === 0 ? undefined : Math.min(this.#readAt, Math.max(...times));
  }

  /** Checks a password. @returns undefined when there is no such user or the password is wrong; `busy` when too many sign in at once. */
  async verify(name: string, password: string): Promise<UserRecord | 'busy' | undefined> {
    const user = this.#users.get(name);
    if (this.#running >= maxAtOnce) {
      if (this.#waiting.length >= maxWaiting) return 'busy';
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      const right = await isRight(password.slice(0, maxPasswordCharacters), user?.password ?? nobody);
      return right ? user : undefined;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    await this.#unfollow?.();
  }

  #read(when: 'at the start' | 'again'): ReadonlyMap<string, UserRecord> {
    try {
      const text = readFileSync(this.#file, 'utf8');
      // Removed users lose their consents, for good.
      const problem = when === 'again' ? unwrittenProblem(text) : undefined;
      if (problem !== undefined) throw new Error(`${problem}. "users: []" removes all users`);
      const users = new Map(parseUsers(text).map((user) => [user.name, user]));
      this.#readAt = Date.now();
      return users;
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw new Error(
        `the file of users ${this.#file}${isMissing ? ' does not exist; add a user with: omnibus users add NAME' : `: ${(error as Error).message}`}`,
        { cause: error },
      );
    }
  }

  #reload(): void {
    const before = this.#users;
    try {
      this.#users = this.#read('again');
    } catch (error) {
      this.#observer.rejected((error as Error).message);
      return;
    }
    this.#observer.left(
      [...before.values()].filter(({ name, password, id }) => {
        const now = this.#users.get(name);
        return now?.password !== password || now.id !== id;
      }),
    );
  }
}
