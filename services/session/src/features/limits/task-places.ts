/**
 * Places of `concurrency` that tasks hold which run on after their calls were answered. A place is free when the task has ended: as an answer or notification that
 * passes here says, or its server on periodic requests. Tasks are followed by the worker that began them, and only where such a limit applies.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { isEnded, isObject, type ExchangeOutcome, type ServerNotice, type SessionKey } from '@omnibus/protocol';
import { progressKey } from '../../public-ids/task-ids.ts';

export interface FollowedTask {
  /** The task, as messages about it name it (`progressKey`). */
  readonly key: string;
  readonly session: SessionKey;
  /** Its owner: owners share the bound on followed tasks. */
  readonly owner: string;
  /** Milliseconds between two questions to its server. */
  readonly everyMs: number;
  /** Milliseconds for which its server keeps it; undefined where that is not said. */
  readonly keptMs: number | undefined;
  /** Asks its server for its state. */
  readonly ask: (settled: (outcome: ExchangeOutcome) => void) => void;
  /** Frees the place. */
  readonly leave: () => void;
}

/** Bounds on the milliseconds between two questions, and what holds for a server that names none. */
const everyMs = { least: 1_000, most: 60_000, usual: 5_000 } as const;
/** Longest time that a task of an unreachable server counts: servers keep tasks about as long by default. */
const unknownMs = 3_600_000;
/** Bound on followed tasks; of the owner with the most tasks, the oldest is evicted. Each is about half a kilobyte. */
const maxFollowed = 10_000;

interface Held extends FollowedTask {
  readonly since: number;
  next: Deadline | undefined;
  /** When its server was last reachable. */
  heardAt: number;
  /** Whether requests about it have ended, since its session is gone. */
  isAlone: boolean;
}

export class TaskPlaces {
  readonly #wheel: DeadlineWheel;
  readonly #held = new Map<string, Held>();
  /** The keys of each caller's tasks, in the order in which they began. */
  readonly #byOwner = new Map<string, Set<string>>();

  constructor(wheel: DeadlineWheel) {
    this.#wheel = wheel;
  }

  get size(): number {
    return this.#held.size;
  }

  follow(task: FollowedTask): void {
    this.#end(task.key);
    if (this.#held.size >= maxFollowed) this.#giveUpOne();
    const now = performance.now();
    const held: Held = { ...task, since: now, heardAt: now, next: undefined, isAlone: false };
    this.#held.set(task.key, held);
    const own = this.#byOwner.get(task.owner) ?? new Set();
    this.#byOwner.set(task.owner, own.add(task.key));
    this.#askLater(held);
  }

  /** A request about a task was answered. @param method of the request. */
  heard(key: string, method: string, outcome: ExchangeOutcome): void {
    if (!this.#held.has(key)) return;
    // The answer to `tasks/result` comes when the task has ended. An error says that it has failed, or that its server does not know it.
    const hasEnded =
      outcome.kind === 'result'
        ? method === 'tasks/result' || isEnded(outcome.result)
        : outcome.kind === 'error' && (method === 'tasks/result' || method === 'tasks/get');
    if (hasEnded) this.#end(key);
  }

  /** A server has said something unprompted. */
  noticed(notice: ServerNotice): void {
    if (this.#held.size > 0 && notice.kind === 'task-status' && isEnded(notice.task))
      this.#end(progressKey(notice.server, String(notice.task['taskId']), notice.place));
  }

  /** Its connections to servers are closed, so there are no requests about its tasks. They count until their servers forget them. */
  sessionEnded(session: SessionKey): void {
    for (const held of this.#held.values()) {
      if (held.session !== session || held.isAlone) continue;
      held.isAlone = true;
      held.next?.cancel();
      const leftMs = Math.min(held.keptMs ?? unknownMs, unknownMs) - (performance.now() - held.since);
      held.next = this.#wheel.schedule(Math.max(1, leftMs), () => this.#end(held.key));
    }
  }

  stop(): void {
    for (const { next } of this.#held.values()) next?.cancel();
    this.#held.clear();
    this.#byOwner.clear();
  }

  #askLater(held: Held): void {
    held.next = this.#wheel.schedule(held.everyMs, () => held.ask((outcome) => this.#answered(held, outcome)));
  }

  #answered(held: Held, outcome: ExchangeOutcome): void {
    if (this.#held.get(held.key) !== held || held.isAlone) return;
    const now = performance.now();
    if (outcome.kind !== 'fault') held.heardAt = now;
    if (
      outcome.kind === 'error' ||
      (outcome.kind === 'result' && isEnded(outcome.result)) ||
      now - held.heardAt > unknownMs
    )
      this.#end(held.key);
    else this.#askLater(held);
  }

  /** Evicts the oldest task of the owner with the most tasks. */
  #giveUpOne(): void {
    let most: ReadonlySet<string> = new Set();
    for (const own of this.#byOwner.values()) if (own.size > most.size) most = own;
    const [oldest] = most;
    if (oldest !== undefined) this.#end(oldest);
  }

  #end(key: string): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    const own = this.#byOwner.get(held.owner);
    own?.delete(key);
    if (own?.size === 0) this.#byOwner.delete(held.owner);
    held.next?.cancel();
    held.leave();
  }
}

/** The task with which a call was answered, in the form of either era, if it still runs. */
export function runningTask(
  outcome: ExchangeOutcome,
): (Pick<FollowedTask, 'everyMs' | 'keptMs'> & { readonly taskId: string }) | undefined {
  if (outcome.kind !== 'result') return undefined;
  const { result } = outcome;
  const task = result['resultType'] === 'task' ? result : result['task'];
  if (!isObject(task) || typeof task['taskId'] !== 'string' || isEnded(task)) return undefined;
  const [every, kept] = [task['pollInterval'] ?? task['pollIntervalMs'], task['ttl'] ?? task['ttlMs']];
  return {
    taskId: task['taskId'],
    everyMs: Math.min(everyMs.most, Math.max(everyMs.least, typeof every === 'number' ? every : everyMs.usual)),
    keptMs: typeof kept === 'number' && kept > 0 ? kept : undefined,
  };
}
