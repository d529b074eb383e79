/** API keys as a way for callers to prove who they are. The file is followed: a key that is removed from it, is revoked or expires is refused from then on. */
import { hash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { watch } from 'chokidar';
import { fault, type EndpointName } from '@omnibus/protocol';
import { principalOf, type Facts, type Verdict } from './facts.ts';
import { keyIdOf, parseKeys, type KeyRecord } from './key-file.ts';

/** The issuer of all keys: the gateway itself vouches for the subject of a key. */
const keyIssuer = 'omnibus:keys';

export interface ApiKeysObserver {
  /** Called when the file has changed, and other keys are valid. */
  changed(): void;
  /** Called when the file cannot be used as it is now; the previous keys stay valid. */
  rejected(problem: string): void;
}

interface Entry {
  readonly digest: Buffer;
  readonly facts: Facts;
  readonly endpoints: readonly string[] | undefined;
}

const refusal: Verdict = { fault: fault('auth.invalid', 'this API key is not known, is revoked or has expired') };
/** The digest that is compared where there is no such key, so that both cases take the same time. */
const noDigest = Buffer.alloc(32);

export class ApiKeys {
  #entries: ReadonlyMap<string, Entry>;
  readonly #file: string;
  readonly #observer: ApiKeysObserver;
  #watcher: ReturnType<typeof watch> | undefined;

  /**
   * Reads the keys.
   * @param file in the form of `key-file.ts`.
   * @throws {Error} in words for the operator when it cannot be read.
   */
  static async open(file: string, observer: ApiKeysObserver): Promise<ApiKeys> {
    const keys = new ApiKeys(file, observer);
    await keys.#follow();
    return keys;
  }

  private constructor(file: string, observer: ApiKeysObserver) {
    this.#file = file;
    this.#observer = observer;
    this.#entries = this.#read();
  }

  /** Checks a key. @param credential a text that looks like a key. */
  verify(credential: string, endpoint: EndpointName): Verdict {
    const entry = this.#entries.get(keyIdOf(credential) ?? '');
    const isRight = timingSafeEqual(Buffer.from(hash('sha256', credential, 'hex'), 'hex'), entry?.digest ?? noDigest);
    if (entry === undefined || !isRight || !isGood(entry.facts)) return refusal;
    if (entry.endpoints?.includes(endpoint) === false) return { fault: fault('auth.endpoint', 'this API key is not for this endpoint') };
    return entry.facts;
  }

  /** Whether a key that was valid is still valid. */
  holds({ key, principal }: Facts): boolean {
    const entry = this.#entries.get(key ?? '');
    return entry !== undefined && entry.facts.principal === principal && isGood(entry.facts);
  }

  async close(): Promise<void> {
    await this.#watcher?.close();
  }

  #read(): ReadonlyMap<string, Entry> {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw new Error(`the file of API keys ${this.#file} ${isMissing ? 'is not there; make a key with: omnibus keys create --subject NAME' : `cannot be read: ${String(error)}`}`, { cause: error });
    }
    try {
      return new Map(parseKeys(text).filter(({ revoked }) => revoked === undefined).map((record) => [record.id, entryOf(record)]));
    } catch (error) {
      throw new Error(`the file of API keys ${this.#file}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Resolves when the file is watched, also through the symbolic links of a Kubernetes Secret. */
  async #follow(): Promise<void> {
    const watcher = watch(this.#file, { ignoreInitial: true, awaitWriteFinish: { stabilityThreshold: 100, pollInterval: 25 } });
    this.#watcher = watcher;
    const reload = (): void => {
      try {
        this.#entries = this.#read();
      } catch (error) {
        this.#observer.rejected((error as Error).message);
        return;
      }
      this.#observer.changed();
    };
    watcher.on('change', reload).on('add', reload);
    await new Promise<void>((resolve) => {
      watcher.once('ready', () => resolve());
    });
  }
}

const isGood = ({ expiresAt }: Facts): boolean => expiresAt === undefined || Date.now() < expiresAt;

function entryOf({ id, hash: digest, subject, tenant, groups, endpoints, expires }: KeyRecord): Entry {
  const name = { issuer: keyIssuer, subject };
  return {
    digest: Buffer.from(digest, 'hex'),
    endpoints,
    facts: { ...name, principal: principalOf(name, tenant), tenant, actors: [], groups, scopes: [], client: undefined, expiresAt: expires === undefined ? undefined : Date.parse(expires), key: id },
  };
}
