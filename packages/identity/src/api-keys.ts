/** Authentication of callers by API keys. The file is followed: a key that is removed from it, is revoked or expires is refused from then on. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fault, keyIssuer, printable, type EndpointName } from '@omnibus/protocol';
import { factsWithoutToken, type Facts, type Verdict } from './facts.ts';
import { followFiles } from './follow-files.ts';
import { parseKeys, type KeyRecord, type ToolProblem } from './key-file.ts';
import { unwrittenProblem } from './secret-yaml.ts';

export interface ApiKeysObserver {
  /** Called when the file has changed, and other keys are valid. */
  changed(): void;
  /** Called when the file cannot be used as it is now, or is not followed; the previous keys stay valid. */
  rejected(problem: string): void;
}

interface Entry {
  readonly digest: string;
  readonly facts: Facts;
  readonly endpoints: readonly string[] | undefined;
  /** Milliseconds since 1970 of the last request that was accepted with it; 0 before the first. */
  usedAt: number;
}

const refusal: Verdict = { fault: fault('auth.invalid', 'this API key is not known, is revoked or has expired') };

/** The valid keys. */
interface Entries {
  /** By SHA-256 of the whole key, in hexadecimal digits: looking for one tells nothing of the keys there are, not even by the time it takes. */
  readonly byDigest: ReadonlyMap<string, Entry>;
  readonly byId: ReadonlyMap<string, Entry>;
}

export class ApiKeys {
  #entries: Entries;
  readonly #file: string;
  readonly #observer: ApiKeysObserver;
  readonly #toolProblem: ToolProblem | undefined;
  /** The terms of a key as they were when these facts were proven by it. */
  readonly #terms = new WeakMap<Facts, string>();
  #unfollow: (() => Promise<void>) | undefined;

  /**
   * Reads the keys.
   * @param file in the form of `key-file.ts`.
   * @throws {Error} in words for the operator when it cannot be read.
   */
  static async open(file: string, observer: ApiKeysObserver, toolProblem?: ToolProblem): Promise<ApiKeys> {
    const keys = new ApiKeys(file, observer, toolProblem);
    keys.#unfollow = await followFiles([file], {
      changed: () => keys.#reload(),
      unfollowed: (problem) => observer.rejected(problem),
    });
    return keys;
  }

  private constructor(file: string, observer: ApiKeysObserver, toolProblem: ToolProblem | undefined) {
    this.#file = file;
    this.#toolProblem = toolProblem;
    this.#observer = observer;
    this.#entries = this.#read('at the start');
  }

  /** Checks a key. @param credential a text that looks like a key. @param endpoint undefined at the admin port. */
  verify(credential: string, endpoint: EndpointName | undefined): Verdict {
    const entry = this.#entries.byDigest.get(hash('sha256', credential, 'hex'));
    if (entry === undefined || !isGood(entry.facts)) return refusal;
    if (endpoint === undefined)
      return entry.endpoints === undefined && entry.facts.tools === undefined
        ? used(entry)
        : {
            fault: fault(
              'auth.endpoint',
              'this API key is good for certain endpoints or tools alone, and not for the admin port',
            ),
          };
    if (entry.endpoints?.includes(endpoint) === false)
      return {
        fault: fault(
          'auth.endpoint',
          `this API key is for ${printable(entry.endpoints.map(pathOf).join(', ')) || 'no endpoint'}, and not for ${pathOf(endpoint)}`,
        ),
      };
    return used(entry);
  }

  /** When keys were last accepted, in milliseconds since 1970, by their ids; since the start of this process. */
  uses(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#entries.byId].flatMap(([id, { usedAt }]) => (usedAt === 0 ? [] : [[id, usedAt] as const])),
    );
  }

  /**
   * The present facts of a key that was valid, perhaps with other groups.
   * @returns undefined where it is not valid any more for the same endpoints and tools, and until the same time: the reader of a stream must then reconnect.
   */
  current(facts: Facts): Facts | undefined {
    const entry = this.#entries.byId.get(facts.key ?? '');
    const terms = this.#terms.get(facts);
    return entry !== undefined &&
      entry.facts.principal === facts.principal &&
      isGood(entry.facts) &&
      (terms === undefined || terms === this.#terms.get(entry.facts))
      ? entry.facts
      : undefined;
  }

  async close(): Promise<void> {
    await this.#unfollow?.();
  }

  #read(when: 'at the start' | 'again'): Entries {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw new Error(
        `the file of API keys ${this.#file} ${isMissing ? 'is not there; make a key with: omnibus keys create --subject NAME' : `cannot be read: ${String(error)}`}`,
        { cause: error },
      );
    }
    const problem = when === 'again' ? unwrittenProblem(text) : undefined;
    if (problem !== undefined)
      throw new Error(`the file of API keys ${this.#file}: ${problem}. "keys: []" revokes all keys`);
    try {
      const entries = parseKeys(text, this.#toolProblem)
        .filter(({ revoked }) => revoked === undefined)
        .map((record) => ({ id: record.id, entry: entryOf(record) }));
      for (const {
        entry: { facts, endpoints },
      } of entries)
        this.#terms.set(facts, JSON.stringify([endpoints, facts.tools, facts.expiresAt]));
      return {
        byId: new Map(entries.map(({ id, entry }) => [id, entry])),
        byDigest: new Map(entries.map(({ entry }) => [entry.digest, entry])),
      };
    } catch (error) {
      throw new Error(`the file of API keys ${this.#file}: ${(error as Error).message}`, { cause: error });
    }
  }

  #reload(): void {
    try {
      const before = this.#entries.byId;
      this.#entries = this.#read('again');
      for (const [id, entry] of this.#entries.byId) entry.usedAt = before.get(id)?.usedAt ?? 0;
    } catch (error) {
      this.#observer.rejected((error as Error).message);
      return;
    }
    this.#observer.changed();
  }
}

/** The facts of a key that is accepted now. */
function used(entry: Entry): Facts {
  entry.usedAt = Date.now();
  return entry.facts;
}

const pathOf = (endpoint: string): string => (endpoint === '' ? '/mcp' : `/mcp/${endpoint}`);

const isGood = ({ expiresAt }: Facts): boolean => expiresAt === undefined || Date.now() < expiresAt;

function entryOf({ id, hash: digest, subject, tenant, groups, endpoints, tools, expires }: KeyRecord): Entry {
  const expiresAt = expires === undefined ? undefined : Date.parse(expires);
  return {
    digest,
    endpoints,
    usedAt: 0,
    facts: {
      ...factsWithoutToken({ issuer: keyIssuer, subject }, { tenant, groups, expiresAt, key: id }),
      ...(tools === undefined ? {} : { tools }),
    },
  };
}
