/**
 * Values that teams keep in Secrets of their own namespace. A Secret needs the label for servers: otherwise a user that may add a server, but
 * not read Secrets, could have any of them sent to an address of their choice.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { serviceLabel, type SecretKey } from './objects.ts';

/** The members of a Secret that are read; values are in base64. */
interface SecretObject {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
}

export interface SecretsOptions {
  /** @throws {Error} when there is no such Secret, or it may not be read. */
  readonly read: (namespace: string, name: string) => Promise<SecretObject>;
  /** Called when the content of a Secret has changed. */
  readonly changed: () => void;
  readonly wheel: DeadlineWheel;
}

export type SecretValue = { readonly value: string } | { readonly problem: string };

type Held = { readonly secret: SecretObject } | { readonly problem: string };

/** Milliseconds between two readings of a Secret. Watching would need the right to list every Secret. */
const againMs = 30_000;

export class Secrets {
  readonly #options: SecretsOptions;
  /** Secrets by namespace and name; undefined while one is read for the first time. */
  readonly #held = new Map<string, Held | undefined>();
  #next: Deadline | undefined;

  constructor(options: SecretsOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#next?.cancel();
  }

  value(namespace: string, { name, key }: SecretKey): SecretValue {
    const held = this.#hold(namespace, name);
    if (held === undefined) return { problem: `Secret "${name}" is being read` };
    if ('problem' in held) return held;
    const { metadata, data } = held.secret;
    if (metadata?.labels?.[serviceLabel] !== 'true')
      return { problem: `Secret "${name}" has no label ${serviceLabel}: "true", so it is not for servers` };
    const value = data?.[key];
    return value === undefined
      ? { problem: `Secret "${name}" has no key "${key}"` }
      : { value: Buffer.from(value, 'base64').toString().trim() };
  }

  /** Forgets the Secrets that no object names any more. @param named ids as `secretId` makes them. */
  keep(named: ReadonlySet<string>): void {
    for (const id of this.#held.keys()) if (!named.has(id)) this.#held.delete(id);
  }

  #hold(namespace: string, name: string): Held | undefined {
    const id = secretId(namespace, name);
    if (!this.#held.has(id)) {
      this.#held.set(id, undefined);
      void this.#read(id).then(() => this.#options.changed());
    }
    this.#next ??= this.#options.wheel.schedule(againMs, () => void this.#readAgain());
    return this.#held.get(id);
  }

  async #read(id: string): Promise<boolean> {
    const [namespace, name] = id.split('/') as [string, string];
    const before = JSON.stringify(this.#held.get(id));
    const held = await this.#options.read(namespace, name).then(
      ({ metadata, data }): Held => ({ secret: { metadata: { labels: metadata?.labels ?? {} }, data: data ?? {} } }),
      (error: unknown): Held => ({
        problem: `Secret "${name}" cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      }),
    );
    if (this.#held.has(id)) this.#held.set(id, held);
    return JSON.stringify(held) !== before;
  }

  /** Reads every Secret again, so that a renewed value is found. */
  async #readAgain(): Promise<void> {
    const changes = await Promise.all([...this.#held.keys()].map((id) => this.#read(id)));
    this.#next = undefined;
    if (this.#held.size > 0) this.#next = this.#options.wheel.schedule(againMs, () => void this.#readAgain());
    if (changes.includes(true)) this.#options.changed();
  }
}

export function secretId(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
