/** Who a request comes from, by any of the configured ways. */
import { fault, type EndpointName } from '@omnibus/protocol';
import { ApiKeys } from './api-keys.ts';
import { credentialOf, queryProblem, type Request } from './credential.ts';
import type { Facts, Verdict } from './facts.ts';
import { isKey } from './key-file.ts';

export interface AuthenticatorOptions {
  /** The file of API keys. */
  readonly keysFile: string | undefined;
  /** What the operator is to know. */
  readonly warn: (details: Readonly<Record<string, unknown>>, text: string) => void;
}

const nothing: Verdict = { fault: fault('auth.required') };
const unknown: Verdict = { fault: fault('auth.invalid', 'this is neither an API key nor a token of an issuer that is known here') };

export class Authenticator {
  readonly #keys: ApiKeys | undefined;
  readonly #listeners: Set<() => void>;

  /** @throws {Error} in words for the operator when a way cannot be used. */
  static async open({ keysFile, warn }: AuthenticatorOptions): Promise<Authenticator> {
    const listeners = new Set<() => void>();
    const keys = keysFile === undefined ? undefined : await ApiKeys.open(keysFile, {
      changed: () => {
        for (const listener of listeners) listener();
      },
      rejected: (problem) => warn({ problem }, 'the changed API keys are not taken'),
    });
    return new Authenticator(keys, listeners);
  }

  private constructor(keys: ApiKeys | undefined, listeners: Set<() => void>) {
    this.#keys = keys;
    this.#listeners = listeners;
  }

  /** @param url of the request, with its query. */
  authenticate(request: Request, url: string, endpoint: EndpointName): Verdict {
    const problem = queryProblem(url);
    if (problem !== undefined) return { fault: problem };
    const credential = credentialOf(request);
    if (credential === undefined) return nothing;
    if (typeof credential !== 'string') return credential;
    return this.#keys !== undefined && isKey(credential) ? this.#keys.verify(credential, endpoint) : unknown;
  }

  /** Whether what was proven is proven still: asked for streams that are open, when something was revoked. */
  holds(facts: Facts): boolean {
    return facts.key === undefined || this.#keys?.holds(facts) === true;
  }

  /** Calls back when something may have been revoked. */
  onRevoked(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    await this.#keys?.close();
  }
}
