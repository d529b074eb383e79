/** The other session workers: who may be there, and asking them until each has answered or is known to be gone. */
import { askWorker, askWorkers, PresenceWatch, subjects, type Bus, type Subject } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Presence, WorkerId } from '@omnibus/protocol';

export interface PeersOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly worker: WorkerId;
}

export class Peers {
  readonly #options: PeersOptions;
  readonly #watch: PresenceWatch<Presence>;

  constructor(options: PeersOptions) {
    const { bus, wheel } = options;
    this.#options = options;
    this.#watch = new PresenceWatch({ bus, clock: wheel, subject: subjects.presence, joined: () => undefined, gone: () => undefined, disturbed: () => undefined });
  }

  /** In one process there are no others. */
  async start(): Promise<void> {
    if (this.#options.bus.isShared) await this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  /** What its signs of life say of a worker. */
  get workers(): Pick<PresenceWatch<Presence>, 'state'> {
    return this.#watch;
  }

  /** Whoever may be there, us excepted. */
  get others(): readonly WorkerId[] {
    return this.#watch.expected.filter((worker) => worker !== this.#options.worker);
  }

  /** `others` are all there can be. */
  get isComplete(): boolean {
    return this.#watch.isSettled;
  }

  /** As `askWorker` asks: undefined when it is gone, `silence` when it is there and says nothing. */
  ask<Request, Reply extends object>(worker: WorkerId, to: Subject<Request, Reply>, request: Request): Promise<Reply | 'silence' | undefined> {
    return askWorker(this.#asking, worker, to, request);
  }

  /** As `askWorkers` asks each of these. @param isIt whether an answer says that it is the one that is looked for. */
  askAll<Request, Reply extends object>(workers: readonly WorkerId[], to: (worker: WorkerId) => Subject<Request, Reply>, request: Request, isIt: (reply: Reply) => boolean): Promise<WorkerId | 'silence' | undefined> {
    return askWorkers(this.#asking, workers, to, request, isIt);
  }

  get #asking(): Parameters<typeof askWorker>[0] {
    const { bus, wheel } = this.#options;
    return { bus, clock: wheel, workers: this.#watch };
  }
}
