/**
 * The way to whoever serves a request that needs no session (2026-07-28). Any worker may; when the one that did is gone, the
 * request is made again where that can do no harm, and answered with "outcome unknown" where it could (W1, W2 of `session-door.ts`).
 */
import { subjects, type Bus, type PendingRequest, type ReplyObserver } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { fault, repeatableMethods, type ModernCommand, type SessionKey, type StreamFrame } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

class Passage extends Link {
  readonly command: ModernCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  pending: PendingRequest | undefined;
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

/** Workers have this long to say which requests they hold. */
const holdsMs = 500;
/** Times a request is sent to workers that leave. */
const maxAttempts = 12;

export class ModernDoor {
  readonly #bus: Bus;
  readonly #wheel: DeadlineWheel;
  readonly #log: Logger;
  readonly #open = new Ring<Passage>();

  constructor(bus: Bus, wheel: DeadlineWheel, log: Logger) {
    this.#bus = bus;
    this.#wheel = wheel;
    this.#log = log;
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
    passage.attempts += 1;
    passage.sentAt = performance.now();
    passage.isSure = false;
    passage.pending = this.#bus.request(subjects.modern, passage.command, {
      reply: (frame) => {
        // It was on its way to a worker that leaves, which did nothing with it (W1).
        if (frame.kind === 'refused' && frame.fault.reason === 'gateway.draining' && passage.attempts < maxAttempts) this.#again(passage);
        else passage.observer.reply(frame);
      },
      failed: (error) => {
        if (this.#open.remove(passage)) passage.observer.failed(error);
      },
    });
  }

  /** Asks which of the open requests any worker holds; the others are lost. */
  lookAfter(chosen: (passage: Pick<Passage, 'isSure' | 'sentAt'>) => boolean = () => true): void {
    const open = this.#open.toArray().filter(chosen);
    if (open.length === 0) return;
    const held = new Set<SessionKey>();
    const attempts = open.map((passage) => passage.attempts);
    const pending = this.#bus.request(subjects.modernHolds, { keys: open.map(({ command }) => command.key) }, {
      reply: ({ keys }) => {
        for (const key of keys) held.add(key);
      },
      failed: () => undefined, // Nobody is there: nothing is held.
    });
    this.#wheel.schedule(holdsMs, () => {
      pending.close();
      if (this.#bus.connected) {
        for (const [index, passage] of open.entries()) {
          if (passage.attempts !== attempts[index]) continue;
          passage.isSure = held.has(passage.command.key);
          if (!passage.isSure) this.#lost(passage);
        }
      }
    });
  }

  /** The worker that had it is gone. */
  #lost(passage: Passage): void {
    if (!this.#open.has(passage)) return;
    if (repeatableMethods.has(passage.command.request.method)) this.#again(passage);
    else this.#giveUp(passage);
  }

  #again(passage: Passage): void {
    passage.pending?.close();
    try {
      this.#send(passage);
    } catch (error) {
      this.#log.debug({ err: error }, 'a request could not be sent again');
      this.#giveUp(passage);
    }
  }

  #giveUp(passage: Passage): void {
    passage.pending?.close();
    this.#open.remove(passage);
    passage.observer.reply({ kind: 'refused', fault: fault('gateway.interrupted') }); // W2
  }
}
