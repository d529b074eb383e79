/**
 * The standing `subscriptions/listen` request to one server of 2026-07-28, by which the server announces changes. The set of resources of an open listen
 * cannot be changed, so another one is opened before the old one is closed (basic/utilities/subscriptions).
 *
 * Invariants
 *  L1  While the connection is ready, a listen that ended is opened again, and what may have been missed is looked up.
 *  L2  One is opened at a time, so that acknowledgements cannot overtake each other; a change in between is part of the next one.
 *  L3  An older listen is closed only some time after a newer one is acknowledged: messages on the older stream may arrive after the acknowledgement, which
 *      comes on another stream.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { fault, isObject, metaKeys, type ExchangeOutcome, type GatewayFault, type JsonObject } from '@omnibus/protocol';

export interface ListenPort {
  /** Opens a listen. @returns its id. */
  open(params: JsonObject, settled: (outcome: ExchangeOutcome) => void): number;
  close(id: number): void;
  isReady(): boolean;
  /** Announcements may have been lost. */
  missed(): void;
}

/** What a server says to a listen: the resources whose changes it announces; none when it refuses. `fault`: it has said nothing. */
export type Acknowledgement = { readonly taken: readonly unknown[] } | { readonly fault: GatewayFault };

/** A listen that is open, as far as is known. */
interface Listen {
  readonly id: number;
  readonly uris: readonly string[];
  isAcknowledged: boolean;
}

/** A listen that has not been acknowledged yet. */
interface Opening {
  readonly id: number;
  readonly finish: (acknowledgement: Acknowledgement) => void;
}

const firstDelayMs = 500;
const maxDelayMs = 30_000;
const methodNotFound = -32_601;
/** Time that a server has to acknowledge a listen; changes of the set wait meanwhile (L2). */
const acknowledgeMs = 30_000;
/** Time for which messages on an older stream may still be on their way when a newer one is acknowledged. */
export const retireMs = 2_000;
/** Bound on open streams; beyond it the oldest is closed early. */
const maxOpen = 8;

/** @param outcome by which a listen has ended before the server acknowledged it. */
function unacknowledged(outcome: ExchangeOutcome): Acknowledgement {
  if (outcome.kind === 'error') return { taken: [] };
  if (outcome.kind === 'fault') return outcome;
  return { fault: fault('upstream.invalid', 'the server ended subscriptions/listen and had not acknowledged it') };
}

export class StandingListen {
  readonly #port: ListenPort;
  readonly #wheel: DeadlineWheel;
  readonly #flags: JsonObject;
  #uris: readonly string[] = [];
  /** The oldest listen comes first. */
  #listens: readonly Listen[] = [];
  #opening: Opening | undefined;
  #running: Promise<Acknowledgement> | undefined;
  #next: Promise<Acknowledgement> | undefined;
  #delayMs = firstDelayMs;
  #retry: Deadline | undefined;
  #isStopped = false;

  constructor(port: ListenPort, wheel: DeadlineWheel, capabilities: JsonObject) {
    this.#port = port;
    this.#wheel = wheel;
    const announces = (name: string): boolean =>
      isObject(capabilities[name]) && capabilities[name]['listChanged'] === true;
    this.#flags = {
      ...(announces('tools') ? { toolsListChanged: true } : {}),
      ...(announces('prompts') ? { promptsListChanged: true } : {}),
      ...(announces('resources') ? { resourcesListChanged: true } : {}),
    };
  }

  start(): void {
    if (Object.keys(this.#flags).length > 0) void this.#begin();
  }

  /** Changes the resources that the server announces. Resolves with what the server says to that. */
  watch(uris: readonly string[]): Promise<Acknowledgement> {
    this.#uris = uris;
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next; // L2
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
  }

  /** The server has confirmed its announcements. @param params of its notification. */
  acknowledged(params: JsonObject | undefined): void {
    const id = isObject(params?.['_meta']) ? params['_meta'][metaKeys.subscriptionId] : undefined;
    const listen = this.#listens.find((each) => each.id === id);
    if (listen === undefined) return;
    listen.isAcknowledged = true;
    this.#delayMs = firstDelayMs;
    const older = this.#listens.slice(0, this.#listens.indexOf(listen));
    if (older.length > 0) this.#wheel.schedule(retireMs, () => older.forEach(({ id: old }) => this.#close(old))); // L3
    const notifications = params?.['notifications'];
    const taken =
      isObject(notifications) && Array.isArray(notifications['resourceSubscriptions'])
        ? notifications['resourceSubscriptions']
        : [];
    if (this.#opening?.id === id) this.#opening?.finish({ taken });
  }

  #begin(): Promise<Acknowledgement> {
    const running = this.#open().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  #open(): Promise<Acknowledgement> {
    if (this.#isStopped || !this.#port.isReady())
      return Promise.resolve({ fault: fault('upstream.unavailable', 'there is no connection to the server') });
    const uris = this.#uris;
    return new Promise((resolve) => {
      const finish = (acknowledgement: Acknowledgement): void => {
        limit.cancel();
        this.#opening = undefined;
        resolve(acknowledgement);
      };
      // A listen that cannot be sent has ended before its id is known here.
      const ended: ExchangeOutcome[] = [];
      let end = (outcome: ExchangeOutcome): void => void ended.push(outcome);
      const id = this.#port.open(
        { notifications: { ...this.#flags, ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }) } },
        (outcome) => end(outcome),
      );
      end = (outcome) => this.#ended(id, outcome);
      const late = `the server has not acknowledged subscriptions/listen within ${acknowledgeMs} ms`;
      const limit = this.#wheel.schedule(acknowledgeMs, () => finish({ fault: fault('upstream.timeout', late) }));
      this.#opening = { id, finish };
      this.#listens = [...this.#listens, { id, uris, isAcknowledged: false }];
      for (const { id: old } of this.#listens.slice(0, -maxOpen)) this.#close(old);
      for (const outcome of ended) end(outcome);
    });
  }

  #close(id: number): void {
    if (!this.#listens.some((each) => each.id === id)) return;
    this.#listens = this.#listens.filter((each) => each.id !== id);
    this.#port.close(id);
  }

  #ended(id: number, outcome: ExchangeOutcome): void {
    const wasNewest = this.#listens.at(-1)?.id === id;
    this.#listens = this.#listens.filter((each) => each.id !== id);
    if (this.#opening?.id === id) this.#opening.finish(unacknowledged(outcome));
    if (!wasNewest) return;
    const before = this.#listens.findLast(({ isAcknowledged }) => isAcknowledged);
    // The server does not accept more resources than before, and goes on with those.
    if (before !== undefined && outcome.kind === 'error') this.#uris = before.uris;
    else this.#openLater(outcome);
  }

  #openLater(outcome: ExchangeOutcome): void {
    if (this.#isStopped || (outcome.kind === 'error' && outcome.error.code === methodNotFound)) return;
    this.#retry?.cancel();
    this.#retry = this.#wheel.schedule(this.#delayMs, () => {
      if (this.#isStopped || !this.#port.isReady()) return;
      void this.watch(this.#uris).then(() => this.#port.missed()); // L1
    });
    this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs);
  }
}
