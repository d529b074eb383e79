/**
 * The way to whoever serves a request that needs no session (2026-07-28). Any worker may, but for what continues a call, which one
 * worker holds. When the worker is gone, the request is made again where that can do no harm, and answered with "outcome
 * unknown" where it could (W1, W2 of `session-door.ts`).
 */
import { subjects, type Bus, type BusError, type PendingRequest, type PresenceWatch, type ReplyObserver } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { fault, repeatableMethods, type ModernCommand, type ModernReply, type Presence, type SessionKey, type StreamFrame, type WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { anyWorker } from './choose-worker.ts';
import { retryMs } from './owner-search.ts';

class Passage extends Link {
  readonly command: ModernCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  pending: PendingRequest | undefined;
  /** Who holds what it continues, once that is known. */
  holder: WorkerId | undefined;
  /** Workers that did not have it: they have left, or are about to. */
  readonly without = new Set<WorkerId>();
  attempts = 0;
  sentAt = 0;
  /** A worker has said that it has it. */
  isSure = false;

  constructor(command: ModernCommand, observer: ReplyObserver<StreamFrame>) {
    super();
    this.command = command;
    this.observer = observer;
  }
}

export interface ModernDoorOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly workers: PresenceWatch<Presence>;
}

/** Workers have this long to say which requests they hold. */
const holdsMs = 500;
/** Times a request is sent to workers that leave, or say that another one holds what it continues. */
const maxAttempts = 12;
/** What was sent longer ago has been looked after, while NATS may not know that a worker is gone. */
const unsureMs = 30_000;

export class ModernDoor {
  readonly #options: ModernDoorOptions;
  readonly #open = new Ring<Passage>();

  constructor(options: ModernDoorOptions) {
    this.#options = options;
  }

  /** What waits for its answer here. */
  get waiting(): number {
    return this.#open.size;
  }

  /**
   * Sends a request that needs no session to any worker.
   * @throws {BusError} when the bus cannot carry it.
   */
  request(command: ModernCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    const passage = new Passage(command, observer);
    this.#open.add(passage);
    try {
      this.#send(passage);
    } catch (error) {
      this.#open.remove(passage);
      throw error;
    }
    return {
      close: () => {
        this.#open.remove(passage);
        passage.pending?.close();
      },
    };
  }

  #send(passage: Passage): void {
    const { bus, workers } = this.#options;
    passage.attempts += 1;
    passage.sentAt = performance.now();
    passage.isSure = false;
    const worker = passage.holder ?? anyWorker(workers.there, passage.without);
    passage.pending = bus.request(worker === undefined ? subjects.modern : subjects.modernAt(worker), passage.command, {
      reply: (frame) => this.#hear(passage, worker, frame),
      failed: (error) => {
        if (!this.#open.has(passage)) return;
        if (error.kind === 'no-responders' && worker !== undefined) this.#unheard(passage, worker);
        else this.#fail(passage, error);
      },
    });
  }

  #hear(passage: Passage, worker: WorkerId | undefined, frame: ModernReply): void {
    const mayGoOn = passage.attempts < maxAttempts;
    if (frame.kind === 'elsewhere') {
      passage.holder = frame.worker;
      if (mayGoOn) this.#again(passage);
      else this.#refuse(passage, 'state.lost');
    } else if (frame.kind === 'refused' && frame.fault.reason === 'gateway.draining' && mayGoOn) {
      // It was on its way to a worker that leaves, which did nothing with it (W1).
      if (worker !== undefined) passage.without.add(worker);
      this.#again(passage);
    } else {
      passage.observer.reply(frame);
    }
  }

  /** Nobody had it (W1). */
  #unheard(passage: Passage, worker: WorkerId): void {
    const { workers, wheel } = this.#options;
    if (passage.holder === undefined) {
      passage.without.add(worker);
      if (passage.attempts < maxAttempts) this.#again(passage);
      else this.#refuse(passage, 'gateway.unavailable');
    } else if (!workers.there.includes(worker) || passage.attempts >= maxAttempts) {
      this.#refuse(passage, 'state.lost'); // What it continues is gone with its worker.
    } else {
      // Right after NATS was gone, a worker may be there and not heard from yet.
      const { attempts } = passage;
      wheel.schedule(retryMs, () => {
        if (this.#open.has(passage) && passage.attempts === attempts) this.#again(passage);
      });
    }
  }

  /** As long as NATS may not know that a worker is gone: what was sent to it meanwhile. */
  lookAfterUnsure(): void {
    const since = performance.now() - unsureMs;
    this.lookAfter(({ isSure, sentAt }) => !isSure && sentAt > since);
  }

  /** Asks which of the open requests any worker holds; the others are lost. */
  lookAfter(chosen: (passage: Pick<Passage, 'isSure' | 'sentAt'>) => boolean = () => true): void {
    const { bus, wheel } = this.#options;
    const open = this.#open.toArray().filter(chosen);
    if (open.length === 0) return;
    const held = new Set<SessionKey>();
    const attempts = open.map((passage) => passage.attempts);
    const pending = bus.request(subjects.modernHolds, { keys: open.map(({ command }) => command.key) }, {
      reply: ({ keys }) => {
        for (const key of keys) held.add(key);
      },
      failed: () => undefined, // Nobody is there: nothing is held.
    });
    wheel.schedule(holdsMs, () => {
      pending.close();
      if (!bus.connected) return;
      for (const [index, passage] of open.entries()) {
        if (passage.attempts !== attempts[index]) continue;
        passage.isSure = held.has(passage.command.key);
        if (!passage.isSure) this.#lost(passage);
      }
    });
  }

  /** The worker that had it is gone. */
  #lost(passage: Passage): void {
    if (!this.#open.has(passage)) return;
    if (repeatableMethods.has(passage.command.request.method)) this.#again(passage);
    else this.#refuse(passage, 'gateway.interrupted'); // W2
  }

  #again(passage: Passage): void {
    passage.pending?.close();
    try {
      this.#send(passage);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'a request could not be sent again');
      this.#refuse(passage, 'gateway.interrupted');
    }
  }

  #refuse(passage: Passage, reason: 'gateway.interrupted' | 'gateway.unavailable' | 'state.lost'): void {
    passage.pending?.close();
    if (this.#open.remove(passage)) passage.observer.reply({ kind: 'refused', fault: fault(reason) });
  }

  #fail(passage: Passage, error: BusError): void {
    if (this.#open.remove(passage)) passage.observer.failed(error);
  }
}
