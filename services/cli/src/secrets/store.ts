/** Answers `${vault:…}` in a configuration from a secret store, and notices when the answers become others. */
import { resolve } from 'node:path';
import {
  isStoreAddress,
  parseVaultReference,
  type Resolved,
  type SecretReader,
  type StoreSettings,
  type VaultReference,
} from '@omnibus/config';
import { backoffMs } from '@omnibus/lifecycle';
import { fieldOf, KeyValueReader } from './key-value.ts';
import { StoreLogin } from './login.ts';
import { StoreProblem, StoreRequests, type StoreTarget } from './requests.ts';

type Read = Parameters<SecretReader['read']>;
type Answers = ReadonlyMap<string, Resolved>;

/** Bound on the secrets of one configuration; each is one request. */
const maxSecrets = 1_000;
/** Requests at the same time. */
const lanes = 8;
/** Pauses before another request for a missing value. */
const retries = { minMs: 5_000, maxMs: 300_000 } as const;
const longestTimerMs = 2 ** 31 - 1;

export class SecretStore implements SecretReader, AsyncDisposable {
  readonly #warn: (problem: string) => void;
  #login: { readonly key: string; readonly login: StoreLogin } | undefined;
  /** The end of the logins of earlier settings. */
  #ended: Promise<void> = Promise.resolve();
  /** The last request, and its answer. */
  #last: { readonly read: Read; readonly answers: Answers } | undefined;
  /** Values that were read from the store of `#login`, by reference: they hold while the store does not answer. */
  #known = new Map<string, string>();
  /** Readings in a row that did not bring everything. */
  #failures = 0;
  #warned = '';
  #changed: (() => Promise<unknown>) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param warn gets reports for the operator, without any secret. */
  constructor(warn: (problem: string) => void) {
    this.#warn = warn;
  }

  async read(...read: Read): Promise<Answers> {
    const answers = this.#settle(await this.#ask(read));
    this.#last = { read, answers };
    this.#arm();
    return answers;
  }

  /** From now on asks the store again from time to time. @param changed called when an answer is another one; it reads everything again. */
  follow(changed: () => Promise<unknown>): void {
    this.#changed = changed;
    this.#arm();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([this.#ended, this.#login?.login.close()]);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#changed === undefined || this.#last === undefined || this.#isClosed) return;
    const [references, { refresh }] = this.#last.read;
    const again = this.#failures === 0 ? Infinity : backoffMs(this.#failures - 1, retries, Math.random());
    const pause = Math.min(refresh === 0 ? Infinity : refresh, again);
    if (references.length > 0 && pause !== Infinity)
      this.#timer = setTimeout(() => void this.#refresh(), Math.min(longestTimerMs, pause)).unref();
  }

  async #refresh(): Promise<void> {
    const before = this.#last;
    if (before === undefined) return;
    try {
      const found = await this.#ask(before.read);
      // A reload that came in between knows more.
      if (this.#last !== before || this.#isClosed) return;
      if (!isSame(before.answers, this.#settle(found))) await this.#changed?.();
    } catch (error) {
      this.#warn((error as Error).message);
    } finally {
      this.#arm();
    }
  }

  async #ask([references, settings, at]: Read): Promise<ReadonlyMap<string, Resolved | StoreProblem>> {
    const found = new Map<string, Resolved | StoreProblem>();
    if (references.length === 0) return found;
    try {
      const [target, login] = this.#prepare(settings, at);
      await using requests = new StoreRequests(target);
      const reader = new KeyValueReader(requests, login, settings.kv);
      await readAll(references, reader, found);
    } catch (error) {
      if (!(error instanceof StoreProblem)) throw error;
      for (const reference of references) if (!found.has(reference)) found.set(reference, error);
    }
    return found;
  }

  /** Keeps the known value unless the store says that it is gone. */
  #settle(found: ReadonlyMap<string, Resolved | StoreProblem>): Answers {
    const kept = new Set<string>();
    const known = new Map<string, string>();
    let isWhole = true;
    const answers = new Map(
      [...found].map(([reference, answer]): [string, Resolved] => {
        const before = this.#known.get(reference);
        isWhole &&= !(answer instanceof Error) && 'text' in answer;
        if (answer instanceof StoreProblem && answer.kind !== 'gone' && before !== undefined) {
          kept.add(answer.message);
          known.set(reference, before);
          return [reference, { text: before }];
        }
        const said = answer instanceof StoreProblem ? { problem: answer.message } : answer;
        if ('text' in said) known.set(reference, said.text);
        return [reference, said];
      }),
    );
    this.#known = known;
    this.#failures = isWhole ? 0 : this.#failures + 1;
    const warning = [...kept].join('; ');
    if (warning !== '' && this.#warned === '') this.#warn(`${warning}; the values that were read before are used`);
    if (warning === '' && this.#warned !== '') this.#warn('the secret store answers again');
    this.#warned = warning;
    return answers;
  }

  #prepare(
    { address: given, namespace, caFile, timeout, patience, token, tokenFile, kubernetes, appRole }: StoreSettings,
    { env, folder }: Read[2],
  ): readonly [StoreTarget, StoreLogin] {
    const address = given ?? nonEmpty(env['VAULT_ADDR']);
    if (address === undefined)
      throw new StoreProblem(
        'refused',
        'the secret store has no address: set secrets.vault.address, or the environment variable VAULT_ADDR',
      );
    if (!isStoreAddress(address))
      throw new StoreProblem(
        'refused',
        'VAULT_ADDR is not the address of a secret store: expected an https:// address, or one of this machine',
      );
    const authority = caFile ?? nonEmpty(env['VAULT_CACERT']);
    const target: StoreTarget = {
      address,
      namespace: namespace ?? nonEmpty(env['VAULT_NAMESPACE']),
      caFile: authority === undefined ? undefined : resolve(folder, authority),
      timeoutMs: timeout,
      patienceMs: patience,
    };
    const isSaid = [token, tokenFile, kubernetes, appRole].some((way) => way !== undefined);
    const ways = isSaid ? { token, tokenFile, kubernetes, appRole } : { token: nonEmpty(env['VAULT_TOKEN']) };
    const key = JSON.stringify([target, ways]);
    if (this.#login?.key !== key) {
      this.#ended = Promise.all([this.#ended, this.#login?.login.close()]).then(() => undefined);
      // Values of one store are not those of another.
      this.#known = new Map();
      this.#login = { key, login: new StoreLogin({ target, ways, folder, warn: this.#warn }) };
    }
    return [target, this.#login.login];
  }
}

/** Reads each secret once, however many references are to fields of it. */
async function readAll(
  references: readonly string[],
  reader: KeyValueReader,
  found: Map<string, Resolved | StoreProblem>,
): Promise<void> {
  const secrets = new Map<string, [string, VaultReference][]>();
  for (const reference of references) {
    const parsed = parseVaultReference(reference);
    if (parsed === undefined) continue;
    const key = `${parsed.path}?${parsed.version ?? ''}`;
    const fields = secrets.get(key) ?? [];
    fields.push([reference, parsed]);
    if (secrets.size < maxSecrets || secrets.has(key)) secrets.set(key, fields);
    else found.set(reference, { problem: `more than ${maxSecrets} secrets of the secret store are referred to` });
  }
  const waiting = [...secrets.values()].values();
  const readOne = async (fields: readonly [string, VaultReference][]): Promise<void> => {
    const [[, first] = []] = fields;
    if (first === undefined) return;
    try {
      const values = await reader.read(first);
      for (const [reference, parsed] of fields) found.set(reference, fieldOf(values, parsed));
    } catch (error) {
      if (!(error instanceof StoreProblem)) throw error;
      for (const [reference] of fields) found.set(reference, error);
    }
  };
  // One goes ahead: it logs in, and learns of a mount that others are probably in too.
  const [[[, first] = []] = []] = secrets.values();
  if (first !== undefined) await reader.findMount(first.path).catch(passIfRefused);
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const fields of waiting) await readOne(fields);
    }),
  );
}

/** A problem of one path is met again when its secret is read. @throws {Error} of the store itself, which would be met with every secret. */
function passIfRefused(error: unknown): void {
  if (!(error instanceof StoreProblem) || error.kind === 'passing') throw error;
}

function isSame(before: Answers, after: Answers): boolean {
  return [...after].every(([reference, answer]) => {
    const other = before.get(reference);
    return (
      other !== undefined &&
      ('text' in other
        ? 'text' in answer && other.text === answer.text
        : 'problem' in answer && other.problem === answer.problem)
    );
  });
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
