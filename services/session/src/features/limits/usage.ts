/**
 * Counts what callers use, at the worker that forwards their calls, and writes the counts of each day to a bucket at intervals. Metrics do not name callers; these counts do,
 * for those that may read them at the admin port.
 */
import type { KeyValue } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Caller, Facts, ServerName, UsageRecord, UsageRow, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

const writeMs = 5_000;
/** Bound on the rows of one day at one worker, of about 200 bytes each; use beyond it is counted under `others`. */
const maxRows = 20_000;

type Counted = { -readonly [name in keyof UsageRow]: UsageRow[name] };

/** One use: its caller and target. */
export interface Used {
  readonly caller: Caller;
  readonly facts: Facts | undefined;
  readonly server: ServerName;
  readonly tool: string;
}

export interface UsageOptions {
  readonly store: KeyValue<UsageRecord>;
  readonly worker: WorkerId;
  readonly wheel: DeadlineWheel;
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

export class Usage {
  readonly #options: Required<UsageOptions>;
  /** Counts by principal, then by target. */
  #rows = new Map<string, Map<string, Counted>>();
  #count = 0;
  #day: string;
  #isChanged = false;
  #writing: Deadline | undefined;

  constructor(options: UsageOptions) {
    this.#options = { clock: Date.now, ...options };
    this.#day = this.#today();
  }

  start(): void {
    this.#writing = this.#options.wheel.schedule(writeMs, () => {
      void this.#write();
      this.start();
    });
  }

  async stop(): Promise<void> {
    this.#writing?.cancel();
    await this.#write();
  }

  /** @param size of the result, in bytes of JSON. */
  note({ caller, facts, server, tool }: Used, hasFailed: boolean, size: number): void {
    const row = this.#rowOf(caller.principal, facts, server, tool);
    row.calls += 1;
    if (hasFailed) row.failed += 1;
    row.bytes += size;
    this.#isChanged = true;
  }

  /** Counts a result that came later than the answer to its call. @param size in bytes of JSON. */
  noteBytes({ caller, facts, server, tool }: Used, size: number): void {
    this.#rowOf(caller.principal, facts, server, tool).bytes += size;
    this.#isChanged = true;
  }

  #rowOf(principal: string, facts: Facts | undefined, server: ServerName, tool: string): Counted {
    const ours = this.#rows.get(principal) ?? new Map<string, Counted>();
    let known = ours.get(tool);
    // Of two servers that have a tool of one name, the second is found by both names.
    if (known !== undefined && known.server !== server) known = ours.get(`${server}/${tool}`);
    if (known !== undefined) return known;
    if (this.#count >= maxRows) return this.#rowOfOthers();
    const row: Counted = {
      caller: facts === undefined ? principal : callerIn(facts),
      ...(facts?.tenant === undefined ? {} : { tenant: facts.tenant }),
      groups: facts?.groups ?? [],
      server,
      tool,
      calls: 0,
      failed: 0,
      bytes: 0,
    };
    this.#rows.set(principal, ours);
    ours.set(ours.has(tool) ? `${server}/${tool}` : tool, row);
    this.#count += 1;
    return row;
  }

  #rowOfOthers(): Counted {
    const key = '';
    const rows = this.#rows.get(key) ?? new Map<string, Counted>();
    this.#rows.set(key, rows);
    const row = rows.get(key) ?? {
      caller: 'others',
      groups: [],
      server: '*' as ServerName,
      tool: '*',
      calls: 0,
      failed: 0,
      bytes: 0,
    };
    rows.set(key, row);
    return row;
  }

  #today(): string {
    return new Date(this.#options.clock()).toISOString().slice(0, 10);
  }

  async #write(): Promise<void> {
    const { store, worker, log } = this.#options;
    const day = this.#day;
    const rows = this.#isChanged ? [...this.#rows.values()].flatMap((ours) => [...ours.values()]) : [];
    this.#isChanged = false;
    if (this.#today() !== day) {
      this.#day = this.#today();
      this.#rows = new Map();
      this.#count = 0;
    }
    if (rows.length === 0) return;
    try {
      await store.put(`${day}.${worker}`, { day, rows });
    } catch (error) {
      this.#isChanged = true;
      log.warn({ problem: String(error) }, 'what callers used could not be written; it is tried again');
    }
  }
}

/** The caller by name, with the agents that act for it, the sender of the requests first. */
function callerIn({ issuer, subject, actors }: Facts): string {
  const via = actors.map((actor) => (actor.grant === undefined ? `${actor.issuer}|${actor.subject}` : actor.subject));
  return [`${issuer}|${subject}`, ...via].join(' via ');
}
