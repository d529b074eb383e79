/** Shared by tests of delivery to session workers: scripted workers on a bus in memory, and a clock of the test. */
import { expect, vi } from 'vitest';
import { MemoryBus, PresenceWatch, subjects, type Bus, type Subscription } from '@omnibus/bus';
import { DeadlineWheel, Drain } from '@omnibus/lifecycle';
import { newWorkerId, ownFormats, presenceMs, type Presence, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Connection } from './connection.ts';

/** A session worker. It gives a sign of life when time passes, unless it is paused. */
export abstract class TestedWorker {
  readonly worker: WorkerId = newWorkerId('session');
  reconnects = 0;
  isPaused = false;
  subscriptions: readonly Subscription[] = [];

  /** Subscribes to its commands. */
  abstract listen(bus: Bus): Promise<readonly Subscription[]>;
}

export class DeliveryUnderTest<Worker extends TestedWorker> {
  readonly bus = new MemoryBus(({ what, error }) => expect.fail(`${what}: ${String(error)}`));
  readonly wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  readonly workers: Worker[] = [];
  readonly #watch: PresenceWatch<Presence>;
  readonly #drain = new Drain(this.wheel);

  private constructor(gone: (signs: readonly Presence[]) => void, disturbed: (worker?: WorkerId) => void) {
    this.#watch = new PresenceWatch<Presence>({
      bus: this.bus,
      clock: this.wheel,
      subject: subjects.presence,
      joined: () => undefined,
      gone,
      disturbed,
    });
  }

  /** From now on time passes only when the test says so. @param gone and `disturbed` as `Delivery` hears of workers. */
  static async start<Worker extends TestedWorker>(
    gone: (signs: readonly Presence[]) => void,
    disturbed: (worker?: WorkerId) => void,
  ): Promise<DeliveryUnderTest<Worker>> {
    vi.useFakeTimers();
    const test = new DeliveryUnderTest<Worker>(gone, disturbed);
    await test.#watch.start();
    return test;
  }

  stop(): void {
    this.#watch.stop();
    vi.useRealTimers();
  }

  /** The parts of a delivery. */
  get options() {
    return {
      bus: this.bus,
      wheel: this.wheel,
      soon: this.wheel,
      drain: this.#drain,
      log: createLogger({ level: 'silent', format: 'json' }),
      workers: this.#watch,
      connection: new Connection(this.bus, this.#watch),
    };
  }

  /** Lets time pass in which workers that run give their signs. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += presenceMs) {
      for (const worker of this.workers) this.beat(worker);
      await vi.advanceTimersByTimeAsync(presenceMs);
    }
  }

  /** A worker begins to listen, and is seen. */
  async started(worker: Worker): Promise<Worker> {
    worker.subscriptions = await worker.listen(this.bus);
    this.workers.push(worker);
    await this.pass(presenceMs);
    return worker;
  }

  beat({ worker, isPaused, reconnects }: Worker, isLeaving = false): void {
    if (!isPaused) this.bus.publish(subjects.presence, { worker, formats: ownFormats, isLeaving, reconnects });
  }

  kill(worker: Worker): void {
    for (const subscription of worker.subscriptions) subscription.close();
    this.workers.splice(this.workers.indexOf(worker), 1);
  }
}
