/** A file of API keys, with one key for each of several callers. */
import { hash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Keys implements AsyncDisposable {
  /** The part of the configuration that names the file. */
  readonly auth: { readonly keys: { readonly file: string } };
  readonly #folder: string;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #tenants: Readonly<Record<string, string>>;

  private constructor(folder: string, keys: ReadonlyMap<string, string>, tenants: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#keys = keys;
    this.#tenants = tenants;
    this.auth = { keys: { file: join(folder, 'keys.yaml') } };
  }

  static async make(...subjects: readonly string[]): Promise<Keys> {
    return Keys.makeOf(Object.fromEntries(subjects.map((subject) => [subject, []])));
  }

  /** @param callers with their groups. @param tenants of callers; others have none. */
  static async makeOf(
    callers: Readonly<Record<string, readonly string[]>>,
    tenants: Readonly<Record<string, string>> = {},
  ): Promise<Keys> {
    const subjects = Object.keys(callers);
    const keys = new Map(
      subjects.map((subject) => [
        subject,
        `omk_${randomBytes(6).toString('hex')}_${randomBytes(32).toString('base64url')}`,
      ]),
    );
    const made = new Keys(await mkdtemp(join(tmpdir(), 'omnibus-keys-')), keys, tenants);
    await made.write(callers);
    return made;
  }

  /** Writes other groups for the same keys. */
  async write(callers: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const records = [...this.#keys].map(([subject, key]) => ({
      id: key.split('_')[1],
      hash: hash('sha256', key, 'hex'),
      subject,
      groups: callers[subject],
      ...(this.#tenants[subject] === undefined ? {} : { tenant: this.#tenants[subject] }),
    }));
    await writeFile(this.auth.keys.file, JSON.stringify({ keys: records }), { mode: 0o600 });
  }

  /** Headers for requests of a caller. */
  headersOf(subject: string): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.#keys.get(subject) as string}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}
