/**
 * What one server of 2026-07-28 tells us of its own accord: a `subscriptions/listen` that stays open. What it is to tell of
 * cannot be changed in place, so a wider one is opened before the old one is closed (basic/utilities/subscriptions).
 *
 * Invariant L1: while the connection is ready, a listen that ended is opened again, and what may have been missed is looked up.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { isObject, type ExchangeOutcome, type JsonObject } from '@omnibus/protocol';

export interface ListenPort {
  /** Opens a listen. @returns its id. */
  open(params: JsonObject, settled: (outcome: ExchangeOutcome) => void): number;
  close(id: number): void;
  isReady(): boolean;
  /** Events may have been lost. */
  missed(): void;
}

const firstDelayMs = 500;
const maxDelayMs = 30_000;
const methodNotFound = -32_601;
/** A server has this long to acknowledge. */
const acknowledgeMs = 5_000;

export class StandingListen {
  readonly #port: ListenPort;
  readonly #wheel: DeadlineWheel;
  readonly #flags: JsonObject;
  #uris: readonly string[] = [];
  #current: number | undefined;
  #delayMs = firstDelayMs;
  #isStopped = false;
  readonly #acknowledged = new Map<number, (uris: readonly unknown[]) => void>();

  constructor(port: ListenPort, wheel: DeadlineWheel, capabilities: JsonObject) {
    this.#port = port;
    this.#wheel = wheel;
    const announces = (name: string): boolean => isObject(capabilities[name]) && capabilities[name]['listChanged'] === true;
    this.#flags = {
      ...(announces('tools') ? { toolsListChanged: true } : {}), ...(announces('prompts') ? { promptsListChanged: true } : {}), ...(announces('resources') ? { resourcesListChanged: true } : {}),
    };
  }

  start(): void {
    if (Object.keys(this.#flags).length > 0) void this.#open();
  }

  /** Changes which resources it is told of. Resolves with those the server has taken. */
  watch(uris: readonly string[]): Promise<readonly unknown[]> {
    this.#uris = uris;
    return this.#open();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** The server says what it will tell of. */
  acknowledged(id: unknown, params: JsonObject | undefined): void {
    const notifications = params?.['notifications'];
    const taken = isObject(notifications) && Array.isArray(notifications['resourceSubscriptions']) ? notifications['resourceSubscriptions'] : [];
    if (typeof id === 'number') this.#acknowledged.get(id)?.(taken as unknown[]);
  }

  #open(): Promise<readonly unknown[]> {
    if (this.#isStopped || !this.#port.isReady()) return Promise.resolve([]);
    const old = this.#current;
    const uris = this.#uris;
    return new Promise((resolve) => {
      const id = this.#port.open({ notifications: { ...this.#flags, ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }) } }, (outcome) => {
        finish([]);
        if (this.#current === id) this.#lost(outcome);
      });
      const finish = (taken: readonly unknown[]): void => {
        limit.cancel();
        if (!this.#acknowledged.delete(id)) return;
        if (old !== undefined && old !== this.#current) this.#port.close(old);
        resolve(taken);
      };
      const limit = this.#wheel.schedule(acknowledgeMs, () => finish([]));
      this.#current = id;
      this.#acknowledged.set(id, (taken) => {
        this.#delayMs = firstDelayMs;
        finish(taken);
      });
    });
  }

  #lost(outcome: ExchangeOutcome): void {
    this.#current = undefined;
    if (this.#isStopped || (outcome.kind === 'error' && outcome.error.code === methodNotFound)) return;
    this.#wheel.schedule(this.#delayMs, () => {
      if (this.#isStopped || !this.#port.isReady() || this.#current !== undefined) return;
      void this.#open().then(() => this.#port.missed()); // L1
    });
    this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs);
  }
}
