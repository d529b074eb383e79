/**
 * Notices at once that a worker is gone. NATS knows of a killed process before its signs of life are missed, but says so to senders only. So if a command has no
 * answer after a few round trips, the edge sends its worker an empty question.
 *
 * An answer proves that the worker has got every command before it, since NATS keeps the order of one sender. One question to a worker is open at a time: a busy
 * worker gets few of them, and a worker without processor time, which answers late, ever fewer.
 */
import { subjects, type Bus, type PendingRequest } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { WorkerId } from '@omnibus/protocol';
import type { Connection } from './connection.ts';
import type { Tracked } from './in-flight.ts';

export interface PulseOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly connection: Pick<Connection, 'isSteady'>;
  /** The open commands that the edge has accepted since a time, on the clock of `performance.now()`. */
  readonly acceptedSince: (since: number) => readonly Pick<Tracked, 'sentTo' | 'sentAt' | 'pending'>[];
  /** Called when twice nothing has listened for a worker at NATS: if its NATS node died, it is back in a moment. */
  readonly gone: (worker: WorkerId) => void;
}

/** Milliseconds after which a command without an answer is doubtful, and between two questions to a worker that does not listen. */
export const doubtMs = 50;
/** Milliseconds between two looks while there are recent commands. */
export const recentLookMs = 20;
/** Age of the commands that are looked at; older ones are asked after one by one (`Tracked.isDue`). */
const recentMs = 2_000;
/** Milliseconds after which a question without an answer is repeated: the first one, which may have come to a process in the moment of its death, and at most. */
const firstAnswerMs = 50;
const longestAnswerMs = 1_000;

export class Pulse {
  readonly #options: PulseOptions;
  /** The workers with an open question. */
  readonly #asked = new Set<WorkerId>();
  /** By worker, when the last question was sent that it has answered. */
  readonly #answeredAt = new Map<WorkerId, number>();
  /** The workers that did not listen to the last question. */
  readonly #missed = new Set<WorkerId>();
  /** By worker, the time limit of the next question, if it has not answered the last one in time. */
  readonly #limitMs = new Map<WorkerId, number>();

  constructor(options: PulseOptions) {
    this.#options = options;
  }

  /** @returns whether another look is needed after `recentLookMs`: recent commands have no answer. */
  look(): boolean {
    const { acceptedSince, connection } = this.#options;
    const now = performance.now();
    const recent = acceptedSince(now - recentMs);
    if (recent.length === 0) {
      this.#answeredAt.clear();
      this.#limitMs.clear();
      this.#missed.clear();
      return false;
    }
    if (!connection.isSteady) return true;
    for (const { sentTo, sentAt, pending } of recent)
      if (
        sentTo !== undefined &&
        pending !== undefined &&
        now - sentAt >= doubtMs &&
        sentAt > (this.#answeredAt.get(sentTo) ?? -Infinity) &&
        !this.#asked.has(sentTo)
      )
        this.#ask(sentTo, now);
    return true;
  }

  #ask(worker: WorkerId, now: number): void {
    const { bus, wheel, gone } = this.#options;
    let pending: PendingRequest | undefined;
    const end = (): void => {
      pending?.close();
      limit.cancel();
      this.#asked.delete(worker);
    };
    const limitMs = this.#limitMs.get(worker) ?? firstAnswerMs;
    this.#asked.add(worker);
    const limit = wheel.schedule(limitMs, () => {
      end();
      this.#limitMs.set(worker, Math.min(2 * limitMs, longestAnswerMs));
      this.look();
    });
    try {
      pending = bus.request(
        subjects.modernHolds(worker),
        { keys: [] },
        {
          reply: () => {
            end();
            this.#answeredAt.set(worker, now);
            this.#limitMs.delete(worker);
            this.#missed.delete(worker);
          },
          failed: (error) => {
            end();
            if (error.kind !== 'no-responders') return;
            if (this.#missed.delete(worker)) gone(worker);
            else this.#askAgain(worker);
          },
        },
      );
    } catch {
      end(); // The bus is closing.
    }
  }

  /** NATS knows no listener for a worker, for the first time: the worker may be about to reconnect. */
  #askAgain(worker: WorkerId): void {
    this.#missed.add(worker);
    this.#asked.add(worker);
    this.#options.wheel.schedule(doubtMs, () => {
      this.#asked.delete(worker);
      this.look();
      // It has answered its commands meanwhile.
      if (!this.#asked.has(worker)) this.#missed.delete(worker);
    });
  }
}
