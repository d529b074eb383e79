/** The requests without a session (2026-07-28) that wait for their answers on one connection. */
import { subjects, type Bus, type PendingRequest } from '@omnibus/bus';
import { idKey, type JsonRpcId, type SessionKey } from '@omnibus/protocol';
import type { Measured } from '../requests/request-meter.ts';

export interface OpenRequest {
  readonly id: JsonRpcId;
  readonly key: SessionKey;
  readonly pending: PendingRequest;
  readonly measured: Measured;
  /** Tells the client that its subscription has ended; undefined for any other request. */
  readonly takeBack: (() => void) | undefined;
  /** Called once, when it is open no more. */
  readonly ended: () => void;
}

export class OpenRequests {
  readonly #bus: Bus;
  readonly #removed: () => void;
  /** Removal makes a new list, so that an iteration over this one may end its requests. */
  #open: OpenRequest[] = [];

  /** @param removed called after each request that is open no more. */
  constructor(bus: Bus, removed: () => void) {
    this.#bus = bus;
    this.#removed = removed;
  }

  /** Whether an answer is still to come; a subscription has none. */
  get areUnanswered(): boolean {
    return this.#open.some(({ takeBack }) => takeBack === undefined);
  }

  get size(): number {
    return this.#open.length;
  }

  add(request: OpenRequest): void {
    this.#open.push(request);
  }

  /** Forgets one that was answered. */
  remove(key: SessionKey): void {
    const removed = this.#open.find((request) => request.key === key);
    if (removed === undefined) return;
    this.#open = this.#open.filter((request) => request !== removed);
    removed.ended();
    this.#removed();
  }

  /** Gives one up that its client cancelled. @returns false when there is none of that id. */
  cancel(id: JsonRpcId): boolean {
    const request = this.#open.find((each) => idKey(each.id) === idKey(id));
    if (request === undefined) return false;
    this.#abandon(request, 'cancelled', 'the client cancelled the request');
    return true;
  }

  /** Gives up all of them, because the connection has ended. */
  abandonAll(): void {
    for (const request of this.#open) this.#abandon(request, 'client.gone', 'the connection is over');
  }

  /** Ends subscriptions after a change of the client's rights; it opens them again with these. */
  endSubscriptions(): void {
    for (const request of this.#open) {
      if (request.takeBack === undefined) continue;
      this.#abandon(request, 'cancelled', 'who listens has other rights now');
      request.takeBack();
    }
  }

  #abandon({ key, pending, measured }: OpenRequest, error: string, reason: string): void {
    this.remove(key);
    pending.close();
    measured.end(error);
    if (this.#bus.connected) this.#bus.publish(subjects.modernControl, { kind: 'closed', key, reason });
  }
}
