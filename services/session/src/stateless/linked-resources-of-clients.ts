/** The URIs that results have linked to, for clients without sessions. */
import type { Caller } from '@omnibus/protocol';
import { LinkedResources } from '../call/routes/linked-resources.ts';
import { holderOf } from './shares.ts';

/** Clients that are remembered; beyond that the least recently active one is forgotten. */
const maxClients = 1_000;
/** Characters of the URIs of all clients together. */
const maxLength = 16 * 1024 * 1024;

export class LinkedResourcesOfClients {
  /** The links of each client, the least recently active client first. */
  readonly #clients = new Map<string, LinkedResources>();
  #length = 0;

  /** Characters of all URIs that are remembered. */
  get length(): number {
    return this.#length;
  }

  of(caller: Caller): LinkedResources {
    const holder = holderOf(caller);
    const linked = this.#clients.get(holder) ?? new LinkedResources((length) => this.#grow(length));
    this.#clients.delete(holder);
    this.#clients.set(holder, linked);
    if (this.#clients.size > maxClients) this.#forgetOldest();
    return linked;
  }

  #grow(length: number): void {
    this.#length += length;
    while (this.#length > maxLength && this.#clients.size > 1) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const [oldest] = this.#clients;
    if (oldest === undefined) return;
    const [holder, linked] = oldest;
    this.#clients.delete(holder);
    linked.forget();
  }
}
