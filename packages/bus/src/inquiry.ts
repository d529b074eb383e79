/**
 * Asks workers whether they still hold the items they received. Silence is no answer: the inquiry waits for a live worker, however
 * long it takes, and a worker that is not there must be proven gone.
 *
 * Invariant P1: none of the workers that may have an item holds it when it is reported lost.
 * Each of them has said so, or is proven gone. It is gone
 * - if it gave no sign of life and twice did not listen at NATS,
 * - or if it gave no sign of life for so long that it counts as lost (`presence.ts`).
 * Neither proves it for an item that awaits the worker (`awaits`).
 */
import type { WorkerId } from '@omnibus/protocol';
import type { Bus, PendingRequest } from './bus.ts';
import type { BusError } from './errors.ts';
import type { PresenceWatch, Sign } from './presence.ts';
import type { Subject } from './subject.ts';

export interface InquiryOptions<Item, Payload> {
  readonly bus: Bus;
  readonly clock: { schedule(delayMs: number, run: () => void): { cancel(): void } };
  readonly workers: Pick<PresenceWatch<Sign>, 'state'>;
  /** Whether a worker that seems to be gone may come back with an item, which waits for that. Left out where no item waits. */
  readonly awaits?: (item: Item, worker: WorkerId) => boolean;
  /** The question to one worker about these items. */
  readonly payload: (items: readonly Item[]) => Payload;
  /**
   * @param askedAt when the worker was asked that question, on the clock of `performance.now()`.
   * @returns those of the items that the worker says it holds.
   */
  readonly heldOf: (answer: Payload, items: readonly Item[], askedAt: number) => ReadonlySet<Item>;
  /** How often an item was sent, or undefined when it has ended. An answer concerns only sendings before the question. */
  readonly attemptOf: (item: Item) => number | undefined;
  readonly held: (item: Item, worker: WorkerId) => void;
  readonly lost: (item: Item) => void;
}

/**
 * Milliseconds until the first check of a worker that has not answered. The time doubles with each check, up to `lookMs`.
 * It starts again from here when the worker did not listen, since the worker may be back at NATS in a moment.
 * A check asks a worker that did not listen again.
 */
const firstLookMs = 100;
const lookMs = 500;
/** The first checks, 100, 300 and 700 ms after the question, send it again: NATS may have lost it with a node. */
const firstTries = 3;
/** Later, each of so many checks sends it again. */
const looksPerTry = 4;
/** Sendings of a question whose answers count: those of a busy worker come late. */
const maxPending = 4;
/** Checks of a worker that gives signs of life but does not subscribe to the question: its version is older and does not know the question. */
const maxDeaf = 10;

/** An item that any of several workers may hold. */
interface Suspect<Item> {
  readonly item: Item;
  readonly attempt: number;
  /** Workers that have not denied holding it. */
  readonly candidates: Set<WorkerId>;
}

interface Question<Item, Payload> {
  readonly worker: WorkerId;
  readonly to: Subject<Payload, Payload>;
  readonly suspects: readonly Suspect<Item>[];
  readonly pending: PendingRequest[];
  next: { cancel(): void } | undefined;
  /** Whether its last sending has not failed. */
  isAsked: boolean;
  reconnects: number;
  looks: number;
  /** How often the question failed with `no-responders`. */
  unheard: number;
  isOver: boolean;
}

export class Inquiry<Item, Payload> {
  readonly #options: InquiryOptions<Item, Payload>;
  readonly #open = new Map<Item, Suspect<Item>>();

  constructor(options: InquiryOptions<Item, Payload>) {
    this.#options = options;
  }

  /**
   * Asks about items that were sent before now; an item that a running question covers is left to that.
   * @param to the subject of a worker.
   * @param candidatesOf the workers that may hold an item; an item without candidates is left alone.
   */
  ask(
    items: readonly Item[],
    to: (worker: WorkerId) => Subject<Payload, Payload>,
    candidatesOf: (item: Item) => readonly WorkerId[],
  ): void {
    const byWorker = new Map<WorkerId, Suspect<Item>[]>();
    for (const item of items) {
      const attempt = this.#options.attemptOf(item);
      if (attempt === undefined || this.#open.get(item)?.attempt === attempt) continue;
      const suspect: Suspect<Item> = { item, attempt, candidates: new Set(candidatesOf(item)) };
      if (suspect.candidates.size > 0) this.#open.set(item, suspect);
      for (const worker of suspect.candidates) {
        const known = byWorker.get(worker);
        if (known === undefined) byWorker.set(worker, [suspect]);
        else known.push(suspect);
      }
    }
    for (const [worker, suspects] of byWorker)
      this.#send({
        worker,
        to: to(worker),
        suspects,
        pending: [],
        next: undefined,
        isAsked: false,
        reconnects: 0,
        looks: 0,
        unheard: 0,
        isOver: false,
      });
  }

  #send(question: Question<Item, Payload>): void {
    if (question.isOver) return;
    const { bus, payload, heldOf } = this.#options;
    const items = this.#left(question).map(({ item }) => item);
    if (items.length === 0) {
      this.#over(question);
      return;
    }
    question.reconnects = bus.reconnects;
    const askedAt = performance.now();
    try {
      const pending = bus.request(question.to, payload(items), {
        reply: (answer) => {
          const held = heldOf(answer, items, askedAt);
          this.#end(question, ({ item }) => held.has(item));
        },
        failed: (error) => this.#unheard(question, error),
      });
      question.isAsked = true;
      question.pending.push(pending);
      if (question.pending.length > maxPending) question.pending.shift()?.close();
    } catch {
      this.#over(question); // The bus is closing, and this process with it.
      for (const suspect of question.suspects) this.#forget(suspect);
      return;
    }
    this.#lookLater(question);
  }

  #lookLater(question: Question<Item, Payload>): void {
    const { bus, clock, workers } = this.#options;
    question.next?.cancel();
    question.next = clock.schedule(Math.min(firstLookMs * 2 ** question.looks, lookMs), () => {
      if (question.isOver) return;
      question.looks += 1;
      if (workers.state(question.worker) === 'lost') this.#gone(question);
      if (question.isOver) return;
      if (
        bus.connected &&
        (!question.isAsked ||
          question.reconnects !== bus.reconnects ||
          question.looks <= firstTries ||
          question.looks % looksPerTry === 0)
      )
        this.#send(question);
      else this.#lookLater(question);
    });
  }

  #unheard(question: Question<Item, Payload>, error: BusError): void {
    const { bus, workers } = this.#options;
    question.isAsked = false;
    if (question.isOver || error.kind !== 'no-responders') return;
    // However often an awaited worker does not listen, that is no reason to give up.
    question.unheard = this.#isAwaited(question) ? Math.min(question.unheard + 1, 2) : question.unheard + 1;
    // Its last message may still be on its way; and right after NATS was disturbed, a worker may be alive before its next sign of life arrives. So it is
    // asked twice.
    if (question.unheard > 1 && bus.connected && workers.state(question.worker) !== 'alive') this.#gone(question);
    else if (question.unheard > maxDeaf) this.#giveUp(question);
    else if (question.unheard === 1) {
      question.looks = 0;
      this.#lookLater(question);
    }
  }

  #left(question: Question<Item, Payload>): Suspect<Item>[] {
    return question.suspects.filter((suspect) => this.#isOpen(suspect));
  }

  #isOpen(suspect: Suspect<Item>): boolean {
    if (this.#open.get(suspect.item) !== suspect) return false;
    if (this.#options.attemptOf(suspect.item) === suspect.attempt) return true;
    this.#forget(suspect);
    return false;
  }

  #forget(suspect: Suspect<Item>): void {
    if (this.#open.get(suspect.item) === suspect) this.#open.delete(suspect.item);
  }

  #end(question: Question<Item, Payload>, isHeld: (suspect: Suspect<Item>) => boolean): void {
    if (question.isOver) return;
    this.#over(question);
    for (const suspect of this.#left(question)) {
      if (isHeld(suspect)) {
        this.#forget(suspect);
        this.#options.held(suspect.item, question.worker);
      } else this.#exclude(question.worker, suspect);
    }
  }

  /** Ends the question for the items that do not await the worker, which seems to be gone. The next look asks after the others again. */
  #gone(question: Question<Item, Payload>): void {
    const { awaits } = this.#options;
    const gone = this.#left(question).filter(({ item }) => awaits?.(item, question.worker) !== true);
    if (!this.#isAwaited(question)) this.#over(question);
    for (const suspect of gone) this.#exclude(question.worker, suspect);
  }

  /** Whether an item of the question awaits its worker. */
  #isAwaited(question: Question<Item, Payload>): boolean {
    const { awaits } = this.#options;
    return awaits !== undefined && this.#left(question).some(({ item }) => awaits(item, question.worker));
  }

  #exclude(worker: WorkerId, suspect: Suspect<Item>): void {
    suspect.candidates.delete(worker);
    if (suspect.candidates.size === 0) this.#conclude(suspect);
  }

  /** The question cannot be answered; its items are left to their own time limits. */
  #giveUp(question: Question<Item, Payload>): void {
    this.#over(question);
    for (const suspect of question.suspects) this.#forget(suspect);
  }

  #over(question: Question<Item, Payload>): void {
    question.isOver = true;
    question.next?.cancel();
    for (const pending of question.pending.splice(0)) pending.close();
  }

  #conclude(suspect: Suspect<Item>): void {
    this.#forget(suspect);
    this.#options.lost(suspect.item); // P1
  }
}
