/** A part of the process, and its inputs at the start. A process is a list of parts (`parts.ts`), which `compose.ts` starts and stops. */
import type { OnFault } from '@omnibus/bus';
import type { GatewayOptions } from '@omnibus/cli';
import { isForOneUser, type Config, type Role } from '@omnibus/config';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, type WorkerId } from '@omnibus/protocol';
import { Faults, Metrics, type Logger } from '@omnibus/telemetry';

/** Options of a process, with all that a command may leave out. */
export type ProcessOptions = GatewayOptions & Required<Pick<GatewayOptions, 'reload' | 'history'>>;

/** A part of the process. It keeps its state in what `start` returns, so that one list of parts serves any number of processes. */
export interface Part<T = unknown> {
  /** Names it in errors and in the log, such as `the audit`. */
  readonly name: string;
  /** If undefined, every process has the part. */
  readonly isIn?: (host: PartHost) => boolean;
  /** Runs after all parts before it in the list have started. @throws {Error} in words for the operator; the process then does not start. */
  readonly start: (host: PartHost) => Started<T> | Promise<Started<T>>;
}

export interface Started<T> {
  /** What later parts get with `PartHost.of` and `PartHost.find`. */
  readonly offers: T;
  /** Why the process cannot serve now because of this part, in words for the operator. */
  readonly notReady?: () => readonly string[];
  /**
   * Prepares a changed configuration.
   * @returns the step that applies it. The steps of all parts begin in their order, after all are prepared, and none waits for another.
   * @throws {Error} in words for the operator; then the configuration is applied nowhere.
   */
  readonly prepare?: (config: Config) => Step | Promise<Step>;
  /** Accepts no new work and finishes running work. Runs for all parts, the last first, before the first `stop`. */
  readonly leave?: () => Promise<void>;
  /** Runs for all parts, the last first. */
  readonly stop?: () => void | Promise<void>;
}

/**
 * Starts what a part offers. Its part has not started yet, and is not stopped: if the start fails, what it has begun stops here.
 * @returns what the start returns. @throws the error of the start.
 */
export async function begun<T>(worker: { start(): Promise<T>; stop(): Promise<void> }): Promise<T> {
  try {
    return await worker.start();
  } catch (error) {
    await worker.stop();
    throw error;
  }
}

type Step = () => void | Promise<void>;

/** One process: its options, its instruments, and the parts that have started. */
export class PartHost {
  readonly options: ProcessOptions;
  /** The configuration in force. */
  config: Config;
  readonly self: WorkerId;
  readonly log: Logger;
  readonly metrics = new Metrics({ processMetrics: true });
  readonly faults: Faults;
  readonly wheel: DeadlineWheel;
  /** Addresses that this process listens at: `http://host:port/mcp` for clients, `host:port` for operators. */
  readonly addresses: { endpoint?: string; admin?: string } = {};
  readonly startedAt = Date.now();
  state: 'still starting' | 'serving' | 'stopping' = 'still starting';
  /** The reason why the start waits, in words for the operator. */
  waitsFor: readonly string[] = [];
  readonly #started = new Map<Part, Started<unknown>>();

  constructor(options: ProcessOptions) {
    this.options = options;
    this.config = options.config;
    this.self = newWorkerId(options.role);
    this.log = options.log;
    this.metrics.describe(options.role);
    this.faults = new Faults({ log: this.log, metrics: this.metrics });
    this.wheel = new DeadlineWheel({ onFault: (error) => this.faults.bug('deadline', 'a deadline failed', error) });
  }

  /** Whether this process has a role. */
  has(role: Role): boolean {
    return this.options.role === 'all' || this.options.role === role;
  }

  /** Whether all who can reach the process are the one user of this machine. */
  get isForOne(): boolean {
    return !this.options.isServing || isForOneUser(this.config);
  }

  /** The interface of a part that is in every process with the caller's part, and before it in the list. @throws {Error} if the part has not started. */
  of<T>(part: Part<T>): T {
    const started = this.#started.get(part);
    if (started === undefined) throw new Error(`${part.name} has not started`);
    return started.offers as T;
  }

  /** The interface of a part; undefined if this process does not have the part, or has not started it yet. */
  find<T>(part: Part<T>): T | undefined {
    return this.#started.get(part)?.offers as T | undefined;
  }

  /** Parts that have started, in their order. */
  get started(): readonly Started<unknown>[] {
    return [...this.#started.values()];
  }

  /** @throws {Error} that names the part. */
  async start(part: Part): Promise<void> {
    try {
      this.#started.set(part, await part.start(this));
    } catch (error) {
      throw new Error(`${part.name}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Why the process cannot serve now, in words for the operator; empty if it can. */
  readonly notReady = (): string[] => [
    ...this.waitsFor,
    ...this.started.flatMap(({ notReady }) => notReady?.() ?? []),
    ...(this.state === 'serving' ? [] : [this.state]),
  ];

  /** Counts and logs a fault of the bus. */
  readonly onFault: OnFault = ({ kind, what, family = 'other', error, incident }) => {
    const { metrics, faults } = this;
    if (kind === 'message') metrics.unreadable(family);
    if (kind === 'format') {
      metrics.foreignFormat(family);
      faults.once(family, what);
    } else if (kind === 'handler' || kind === 'observer') faults.bug(kind, what, error, incident);
    else faults.fromOutside(what, error);
  };
}
