/** The other session workers: which ones may be there, and questions to them that last until each has answered or is known to be gone. */
import {
  askOnce,
  askWorker,
  askWorkers,
  BusError,
  PresenceWatch,
  subjects,
  type Bus,
  type Subject,
} from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Presence, SessionKey, WorkerId } from '@omnibus/protocol';
import type { Share } from './balance.ts';

/** Milliseconds that workers without a sign of life so far have to answer that they hold a session. */
const unheardMs = 300;

/** A worker that started so many milliseconds ago is still young (`youngMs`), though its clock and its messages are late. */
const surelyYoungMs = 2_000;
/** Milliseconds after which the question for young workers is repeated: NATS nodes that have found each other again say at first what they knew before. */
const youngAgainMs = 100;

export interface PeersOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly worker: WorkerId;
  /** Gives a sign of life for a worker that has started, or is connected to NATS again. */
  readonly answer: () => void;
}

export class Peers {
  readonly #options: PeersOptions;
  readonly #watch: PresenceWatch<Presence>;

  constructor(options: PeersOptions) {
    const { bus, wheel, worker, answer } = options;
    this.#options = options;
    const say = (other: WorkerId | undefined): void => {
      if (other !== undefined && other !== worker) answer();
    };
    this.#watch = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.presence,
      self: worker,
      joined: (sign) => say(sign.worker),
      gone: () => undefined,
      disturbed: say,
    });
  }

  /** Starts watching; in a gateway of one process there are no others. */
  async start(): Promise<void> {
    if (this.#options.bus.isShared) await this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  /** The states of workers, by their signs of life. */
  get workers(): Pick<PresenceWatch<Presence>, 'state'> {
    return this.#watch;
  }

  /** All workers that may be there, except this one. */
  get others(): readonly WorkerId[] {
    return this.#watch.expected.filter((worker) => worker !== this.#options.worker);
  }

  /** The other workers of this region that say how many sessions they hold. */
  get shares(): readonly Share[] {
    const near = new Set(this.#watch.near);
    return this.#watch.signs.flatMap(({ worker, sessions }) =>
      sessions === undefined || worker === this.#options.worker || !near.has(worker) ? [] : [{ worker, sessions }],
    );
  }

  /** Workers that vanished a moment ago, and may come back with the sessions that only they know of. */
  get vanished(): readonly WorkerId[] {
    return this.#watch.vanished;
  }

  /** Whether `others` is complete. */
  get isComplete(): boolean {
    return this.#watch.isSettled;
  }

  /** Whether `others` has every worker that ran when this process was cut off from NATS last. */
  get knewAll(): boolean {
    return this.#watch.knewAll;
  }

  /** Whether this worker reaches the others again, and they reach it. One that began during the cut may not be in `others` yet. */
  get isBack(): boolean {
    return this.#watch.isBack;
  }

  /** Asks one worker, as `askWorker` does. @returns undefined when it is gone, `silence` when it is there and does not answer. */
  ask<Request, Reply extends object>(
    worker: WorkerId,
    to: Subject<Request, Reply>,
    request: Request,
  ): Promise<Reply | 'silence' | undefined> {
    return askWorker(this.#asking, worker, to, request);
  }

  /** Asks several workers, as `askWorkers` does. @param isIt whether an answer comes from the worker that is searched for. */
  askAll<Request, Reply extends object>(
    workers: readonly WorkerId[],
    to: (worker: WorkerId) => Subject<Request, Reply>,
    request: Request,
    isIt: (reply: Reply) => boolean,
  ): Promise<WorkerId | 'silence' | undefined> {
    return askWorkers(this.#asking, workers, to, request, isIt);
  }

  /**
   * Asks every worker that listens, whether or not this one has heard of it. An old version gives no answer to signs of life, but one to this question.
   * @returns the other worker that says in time that it holds a session; `silence` if the question has failed.
   */
  find(key: SessionKey): Promise<WorkerId | 'silence' | undefined> {
    const { bus, wheel, worker: self } = this.#options;
    return new Promise<WorkerId | 'silence' | undefined>((resolve) => {
      const finish = (found: WorkerId | 'silence' | undefined): void => {
        limit.cancel();
        pending.close();
        resolve(found);
      };
      const pending = bus.request(
        subjects.sessionFind,
        { key },
        {
          reply: ({ worker }) => {
            if (worker !== self) finish(worker);
          },
          failed: () => finish('silence'),
        },
      );
      // If this process is late, an answer may have come that it has not read.
      const limit = wheel.schedule(unheardMs, () => void setImmediate(() => finish(undefined)));
    }).catch(() => 'silence'); // The bus is closing.
  }

  /**
   * Asks for a worker that started while this one was cut off, and holds a session. After a short cut such a worker is young: if NATS says twice that there is none,
   * there is none. Those of version 0.3.0 do not listen as young ones: while one may be there, another one may have started.
   * @returns as `find`.
   */
  async findNew(key: SessionKey): Promise<WorkerId | 'silence' | undefined> {
    for (const afterMs of [0, youngAgainMs]) {
      if (afterMs > 0) await new Promise<void>((resolve) => void this.#options.wheel.schedule(afterMs, resolve));
      const isShort = this.#watch.sinceCutMs < surelyYoungMs;
      if (!isShort || !this.#hearYoung || !(await this.#areNoneYoung(key))) return this.find(key);
    }
    return undefined;
  }

  /** Whether each worker that may be there says that workers of its version listen while they are young. */
  get #hearYoung(): boolean {
    const { signs } = this.#watch;
    const hearing = new Set(signs.filter(({ hearsYoung }) => hearsYoung === true).map(({ worker }) => worker));
    return this.others.every((worker) => hearing.has(worker));
  }

  async #areNoneYoung(key: SessionKey): Promise<boolean> {
    const { bus, wheel } = this.#options;
    const asked = askOnce({ bus, clock: wheel }, subjects.sessionFindYoung, { key }, unheardMs);
    const answer = await asked.catch(() => undefined); // The bus is closing.
    return answer instanceof BusError && answer.kind === 'no-responders';
  }

  get #asking(): Parameters<typeof askWorker>[0] {
    const { bus, wheel } = this.#options;
    return { bus, clock: wheel, workers: this.#watch };
  }
}
