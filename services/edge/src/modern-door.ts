/**
 * The way to whoever serves a request that needs no session (2026-07-28). Any worker may, but for what continues a call, which one
 * worker holds. When the worker is gone, the request is made again where that can do no harm, and answered with "outcome
 * unknown" where it could (W1, W2 of `session-door.ts`).
 */
import { Inquiry, subjects, type Bus, type BusError, type PendingRequest, type PresenceWatch, type ReplyObserver } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { fault, repeatableMethods, type HeldRequests, type ModernCommand, type ModernReply, type Presence, type StreamFrame, type WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { anyWorker } from './choose-worker.ts';
import { enter } from './enter.ts';
import { retryMs } from './owner-search.ts';

class Passage extends Link {
  readonly command: ModernCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  /** Undefined while nobody has it. */
  pending: PendingRequest | undefined;
  /** Who holds what it continues, once that is known. */
  holder: WorkerId | undefined;
  /** Workers that did not have it: they have left, or are about to. */
  readonly without = new Set<WorkerId>();
  /** The worker that has it; undefined while it is whichever NATS chose. */
  sentTo: WorkerId | undefined;
  attempts = 0;

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

/** Times a request is sent to workers that leave, or say that another one holds what it continues. */
const maxAttempts = 12;

export class ModernDoor {
  readonly #options: ModernDoorOptions;
  readonly #open = new Ring<Passage>();
  readonly #inquiry: Inquiry<Passage, HeldRequests>;

  constructor(options: ModernDoorOptions) {
    this.#options = options;
    const { bus, wheel, workers } = options;
    this.#inquiry = new Inquiry<Passage, HeldRequests>({
      bus, clock: wheel, workers,
      payload: (passages) => ({ keys: passages.map(({ command }) => command.key) }),
      heldOf: (answer, asked) => {
        const keys = new Set(answer.keys);
        return new Set(asked.filter(({ command }) => keys.has(command.key)));
      },
      attemptOf: (passage) => (this.#open.has(passage) && passage.pending !== undefined ? passage.attempts : undefined),
      held: (passage, worker) => {
        passage.sentTo = worker;
      },
      lost: (passage) => this.#lost(passage),
    });
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
    return enter(this.#open, new Passage(command, observer), (passage) => this.#send(passage));
  }

  #send(passage: Passage): void {
    const { bus, workers } = this.#options;
    passage.attempts += 1;
    const worker = passage.holder ?? anyWorker(workers.there, passage.without);
    passage.sentTo = worker;
    passage.pending = bus.request(subjects.modern(worker), passage.command, {
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
    switch (frame.kind) {
      case 'elsewhere':
        passage.holder = frame.worker;
        this.#goTo(passage, frame.worker);
        return;
      case 'refused':
        if (frame.fault.reason !== 'gateway.draining' || !mayGoOn) {
          passage.observer.reply(frame);
          return;
        }
        // It was on its way to a worker that leaves, which did nothing with it (W1).
        if (worker !== undefined) passage.without.add(worker);
        this.#again(passage);
        return;
      case 'message':
      case 'accepted':
      case 'attached':
      case 'end':
      case 'probed':
      case 'moved':
        passage.observer.reply(frame);
        return;
      default:
        // Of a newer worker: what it means, and whether it is the last, is not known here.
        this.#options.log.warn('a worker answered what this version does not know');
        this.#refuse(passage, 'gateway.interrupted');
    }
  }

  /** Nobody had it (W1). */
  #unheard(passage: Passage, worker: WorkerId): void {
    const { workers, wheel } = this.#options;
    if (passage.holder === undefined) {
      passage.without.add(worker);
      if (passage.attempts < maxAttempts) this.#again(passage);
      else this.#refuse(passage, 'gateway.unavailable');
    } else if (workers.there.includes(worker)) {
      // Right after NATS was gone, it may be there and not heard from yet.
      passage.pending = undefined;
      wheel.schedule(retryMs, () => this.#goTo(passage, worker));
    } else {
      this.#refuse(passage, 'state.lost');
    }
  }

  /** Sends it to the worker that holds what it continues, once that one is heard of. */
  #goTo(passage: Passage, holder: WorkerId): void {
    const { workers, wheel } = this.#options;
    if (!this.#open.has(passage)) return;
    passage.pending?.close();
    passage.pending = undefined;
    const state = workers.state(holder);
    if (state === 'lost' || passage.attempts >= maxAttempts) this.#refuse(passage, 'state.lost'); // What it continues is gone with its worker.
    else if (state === 'there') this.#again(passage);
    else wheel.schedule(retryMs, () => this.#goTo(passage, holder));
  }

  /** Asks those that may have the open requests which of them they hold. */
  lookAfter(chosen: (passage: Pick<Passage, 'sentTo'>) => boolean = () => true): void {
    const { workers } = this.#options;
    const open = this.#open.toArray().filter((passage) => passage.pending !== undefined && chosen(passage));
    this.#inquiry.ask(open, (worker) => subjects.modernHolds(worker), ({ sentTo }) => (sentTo === undefined ? workers.expected : [sentTo]));
  }

  /** The worker that had it is gone. */
  #lost(passage: Passage): void {
    if (!this.#open.has(passage)) return;
    const { command: { key }, sentTo } = passage;
    // Should it only not have been reached, it need not go on.
    if (sentTo !== undefined) this.#options.bus.publish(subjects.modernControl, { kind: 'closed', key, reason: 'the request was given up', worker: sentTo });
    if (isRepeatable(passage)) this.#again(passage);
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

function isRepeatable({ command }: Passage): boolean {
  return repeatableMethods.has(command.request.method);
}
