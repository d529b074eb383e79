/** The secret store of a process that serves, which is loaded when the configuration first refers to it. */
import type { SecretReader } from '@omnibus/config';
import type { SecretStore } from './store.ts';

type Warn = (problem: string) => void;

export class FollowedSecrets implements SecretReader {
  #store: SecretStore | undefined;
  #changed: (() => Promise<unknown>) | undefined;
  #warn: Warn = () => undefined;

  async read(...read: Parameters<SecretReader['read']>): ReturnType<SecretReader['read']> {
    if (this.#store === undefined) {
      if (read[0].length === 0) return new Map();
      const { SecretStore: Store } = await import('./store.ts');
      this.#store ??= new Store((problem) => this.#warn(problem));
      if (this.#changed !== undefined) this.#store.follow(this.#changed);
    }
    return this.#store.read(...read);
  }

  /** From now on reports problems of the store. */
  warnWith(warn: Warn): void {
    this.#warn = warn;
  }

  /** @param changed called when a secret has changed; it reads the configuration again. */
  follow(changed: () => Promise<unknown>): void {
    this.#changed = changed;
    this.#store?.follow(changed);
  }

  async close(): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
  }
}
