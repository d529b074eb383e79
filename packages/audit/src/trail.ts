/**
 * The audit of one process. Events are collected for a quarter of a second or until there are some hundreds, become records of the process's chain, and
 * wait in a ring until every sink has stored them. None of this is on the path of a call.
 *
 * Invariants
 *  Y1  Every audited act has a record, or is counted by a gap in the chain.
 *  Y2  A record that a sink must have is dropped only when the sink has stored it safely.
 */
import { Chain, type Head } from './chain.ts';
import type { CheckpointKey, Checkpoint } from './checkpoint.ts';
import type { Audit, AuditEvent, Weight } from './event.ts';
import { Lines } from './lines.ts';
import { watched, within } from './overdue.ts';
import { RecordForm, type RecordOptions } from './record.ts';
import { isSmall } from './small.ts';
import { Pump, type Sink, type SinkObserver } from './sink.ts';

type CallsRecorded = 'all' | 'writes' | 'refused';

export interface TrailObserver extends SinkObserver {
  recorded(records: number): void;
  /** Called with the number of records that no sink will ever have. */
  dropped(records: number): void;
  /** Called when an event could not be written as a record, which is a bug; it is counted as dropped. */
  unwritten(error: unknown): void;
  checkpointFailed(error: unknown): void;
  /** Called for each sink that has not stored everything when the audit ends, with the number of records that it will never have. */
  left(sink: string, records: number): void;
}

export interface TrailOptions extends Omit<RecordOptions, 'instance'> {
  /** The name of the chain, which no other process ever has. */
  readonly writer: string;
  readonly calls: CallsRecorded;
  readonly isStrict: boolean;
  /** Milliseconds that a strict call waits for its record. */
  readonly confirmMs: number;
  /** Bound on the records that wait for sinks. */
  readonly ring: number;
  readonly sinks: readonly { readonly sink: Sink; readonly isOptional: boolean }[];
  /** Undefined where nothing is signed. */
  readonly checkpoints?:
    | { readonly key: CheckpointKey; readonly everyMs: number; write(checkpoint: Checkpoint): Promise<void> }
    | undefined;
  readonly software: Readonly<Record<string, string | number>>;
  readonly observer: TrailObserver;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Bounds of a batch of events, of which there are no more than a fourth of the ring has room for. Records in batches of 100 cost a third more processor time than
 * in batches of 400, and in larger ones no less.
 */
const batch = { records: 400, ms: 250 };
/** Bound on the bytes of all waiting lines: a hundred times what calls usually need, since rules may record 8 kB of each. */
const maxBytes = 64 * 1024 * 1024;
/** How long a process that ends waits for its sinks. */
const closeMs = 5_000;
/** How long it then waits for its last checkpoint, and for sinks to close: a file system that has gone away answers neither. */
const endMs = 2_000;

const recordedBy: Readonly<Record<CallsRecorded, ReadonlySet<Weight>>> = {
  all: new Set<Weight>(['read', 'write', 'refusal', 'always']),
  writes: new Set<Weight>(['write', 'refusal', 'always']),
  refused: new Set<Weight>(['refusal', 'always']),
};

interface Waiting {
  readonly upTo: number;
  readonly resolve: (isSafe: boolean) => void;
}

export class AuditTrail implements Audit {
  readonly isStrict: boolean;
  readonly wantsResults: boolean;
  readonly #options: TrailOptions;
  readonly #form: RecordForm;
  #chain: Chain;
  readonly #lines: Lines;
  readonly #pumps: readonly Pump[];
  readonly #now: () => number;
  readonly #batch: number;
  /** Events that are not records yet, and the time of each. */
  #fresh: AuditEvent[] = [];
  #times: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #checkpointing: NodeJS.Timeout | undefined;
  /** Events since the last record for which the ring had no room. */
  #missed = 0;
  #missedSince = 0;
  #waiting: Waiting[] = [];
  /** Records that the observer was not told of. */
  #sealed = 0;
  /** Chains that begin as soon as there is room for their first record. */
  readonly #broken: {
    readonly writer: string;
    readonly foreign: { readonly writer: string; readonly entry: number };
  }[] = [];
  /** The hash of the record that the last checkpoint names. */
  #lastCheckpoint = '';
  #checkpointRun: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: TrailOptions) {
    const { writer, isStrict, rules, ring, sinks, checkpoints, observer, now = Date.now } = options;
    this.#options = options;
    this.isStrict = isStrict;
    this.wantsResults = rules.length > 0;
    this.#now = now;
    this.#form = new RecordForm({ ...options, instance: writer });
    this.#chain = new Chain(writer);
    this.#lines = new Lines(ring, maxBytes);
    this.#batch = Math.min(batch.records, Math.ceil(ring / 4));
    this.#pumps = sinks.map(
      ({ sink, isOptional }) => new Pump(sink, isOptional, this.#lines, observer, () => this.#moved()),
    );
    this.#open({});
    this.#wake();
    if (checkpoints !== undefined)
      this.#checkpointing = setInterval(() => void this.#checkpoint(checkpoints.everyMs), checkpoints.everyMs).unref();
  }

  get head(): Head {
    return this.#chain.head;
  }

  /** For each sink, the number of records that it has not stored. */
  get behind(): readonly { readonly sink: string; readonly records: number; readonly isFailing: boolean }[] {
    return this.#pumps.map((pump) => ({ sink: pump.sink.name, records: pump.behind, isFailing: pump.isFailing }));
  }

  wants(weight: Weight): boolean {
    return recordedBy[this.#options.calls].has(weight);
  }

  record(event: AuditEvent): void {
    if (!this.wants(event.weight) || this.#isClosed) return;
    this.#fresh.push(event);
    this.#times.push(this.#now());
    if (this.#fresh.length >= this.#batch || !isSmall(event.args) || !isSmall(event.result)) this.#drain();
    else this.#timer ??= setTimeout(() => this.#drain(), batch.ms).unref();
  }

  async confirm(event: AuditEvent): Promise<boolean> {
    if (this.#isClosed) return false;
    this.#drain();
    if (!this.#hasRoom()) return false;
    const at = this.#now();
    this.#sayMissed(at);
    if (!this.#hasRoom() || !this.#seal(event, at)) return false;
    this.#wake();
    return this.#safe(this.#lines.next, this.#options.confirmMs);
  }

  /**
   * Begins a new chain because another process has written under the name of the present one. Its first record names the break; records that wait for sinks
   * stay in the old chain, and reach the sinks before it.
   * @param writer the name of the new chain, which no process has had.
   * @param foreign where the stranger has written: the name, and the last entry that is of this process.
   */
  begin(writer: string, foreign: { readonly writer: string; readonly entry: number }): void {
    const { checkpoints } = this.#options;
    this.#broken.push({ writer, foreign });
    if (this.#hasRoom()) this.#wake();
    // Until a checkpoint names the new chain, nothing confirms the break.
    if (checkpoints !== undefined) void this.#checkpoint(checkpoints.everyMs);
  }

  #beginNext(): void {
    const next = this.#broken.shift();
    if (next === undefined) return;
    const { writer, seq, hash } = this.head;
    this.#chain = new Chain(next.writer);
    this.#open({
      'break.writer': next.foreign.writer,
      'break.entry': next.foreign.entry,
      'after.writer': writer,
      'after.seq': seq,
      'after.hash': hash,
    });
  }

  /** Writes the first record of a chain. */
  #open(more: NonNullable<AuditEvent['more']>): void {
    const { software, calls, isStrict } = this.#options;
    this.#seal(
      { name: 'audit.opened', weight: 'always', more: { ...software, calls, strict: isStrict, ...more } },
      this.#now(),
    );
  }

  /** Writes all events, ends the chain with a last record, and waits for the sinks for a while. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#drain();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#checkpointing);
    this.#wake();
    for (const pump of this.#pumps) pump.hurry();
    // Events that the ring had no room for are counted by a gap before the last record, so sinks take what waits first.
    const hasStored = this.#hasRoom() || (await this.#safe(this.#lines.next, closeMs));
    this.#end();
    if (hasStored) await this.#safe(this.#lines.next, closeMs);
    for (const { sink, behind } of this.#pumps) if (behind > 0) this.#options.observer.left(sink.name, behind);
    // A checkpoint that is being written does not know the last record.
    await within(
      endMs,
      Promise.resolve(this.#checkpointRun).then(() => this.#checkpoint(0)),
    );
    await within(endMs, Promise.all(this.#pumps.map((pump) => pump.close())));
  }

  /** Ends the chain. Without room for the last record it has no end, which verification names. */
  #end(): void {
    if (this.#hasRoom()) this.#sayMissed(this.#now());
    if (this.#hasRoom())
      this.#seal(
        { name: 'audit.closed', weight: 'always', more: { missed: this.#missed === 0 ? undefined : this.#missed } },
        this.#now(),
      );
    this.#wake();
  }

  /** Makes records of the collected events. */
  #drain(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [fresh, times] = [this.#fresh, this.#times];
    if (fresh.length === 0) return;
    this.#fresh = [];
    this.#times = [];
    for (let index = 0; index < fresh.length; index += 1) this.#add(fresh[index] as AuditEvent, times[index] as number);
    this.#wake();
  }

  #add(event: AuditEvent, at: number): void {
    if (this.#missed > 0 && this.#hasRoom()) this.#sayMissed(at);
    // Recording the gap may have used the place that was free.
    if (this.#hasRoom()) this.#seal(event, at);
    else this.#miss(at);
  }

  #miss(at: number): void {
    if (this.#missed === 0) this.#missedSince = at;
    this.#missed += 1; // Y1
    this.#options.observer.dropped(1);
  }

  /** Records that only optional sinks lack are dropped to make room, which the beginnings of new chains take first. */
  #hasRoom(): boolean {
    for (;;) {
      if (this.#lines.isFull) this.#lines.drop(this.#safeUpTo);
      if (this.#lines.isFull) return false;
      if (this.#broken.length === 0) return true;
      this.#beginNext();
    }
  }

  #sayMissed(at: number): void {
    if (this.#missed === 0) return;
    const more = { records: this.#missed, since: new Date(this.#missedSince).toISOString() };
    this.#missed = 0;
    this.#seal({ name: 'audit.gap', weight: 'always', more }, at);
  }

  /** @returns false if the event has no valid record; later ones are not affected. */
  #seal(event: AuditEvent, at: number): boolean {
    try {
      const line = this.#lines.begin();
      this.#form.write(line, event, at);
      this.#chain.seal(line);
      this.#lines.add();
    } catch (error) {
      this.#options.observer.unwritten(error);
      this.#miss(at); // Y1
      return false;
    }
    this.#sealed += 1;
    return true;
  }

  /** There are new lines. */
  #wake(): void {
    this.#options.observer.recorded(this.#sealed);
    this.#sealed = 0;
    for (const pump of this.#pumps) pump.wake();
  }

  /** The number of the first line that some required sink has not stored. */
  get #safeUpTo(): number {
    const needed = this.#pumps.filter(({ isOptional }) => !isOptional);
    return needed.length === 0 ? this.#lines.next : Math.min(...needed.map(({ safe }) => safe));
  }

  #moved(): void {
    const safe = this.#safeUpTo;
    this.#lines.release(Math.min(...this.#pumps.map((pump) => pump.safe))); // Y2
    if (this.#missed > 0 && !this.#isClosed && this.#hasRoom()) {
      this.#sayMissed(this.#now());
      this.#wake();
    }
    const done = this.#waiting.filter(({ upTo }) => upTo <= safe);
    if (done.length === 0) return;
    this.#waiting = this.#waiting.filter(({ upTo }) => upTo > safe);
    for (const { resolve } of done) resolve(true);
  }

  #safe(upTo: number, limitMs: number): Promise<boolean> {
    if (this.#safeUpTo >= upTo) return Promise.resolve(true);
    for (const pump of this.#pumps) pump.want(upTo);
    return new Promise((resolve) => {
      const waiting: Waiting = {
        upTo,
        resolve: (isSafe) => {
          clearTimeout(limit);
          resolve(isSafe);
        },
      };
      const limit = setTimeout(() => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        resolve(false);
      }, limitMs);
      this.#waiting.push(waiting);
    });
  }

  /** Writes a checkpoint for the part of the chain that is stored safely, one at a time. @param limitMs milliseconds to wait until all of it is. */
  #checkpoint(limitMs: number): Promise<void> {
    this.#checkpointRun ??= this.#writeCheckpoint(limitMs).finally(() => {
      this.#checkpointRun = undefined;
    });
    return this.#checkpointRun;
  }

  async #writeCheckpoint(limitMs: number): Promise<void> {
    const { checkpoints, observer } = this.#options;
    const { head } = this;
    if (checkpoints === undefined || head.hash === this.#lastCheckpoint) return;
    try {
      if (!(await this.#safe(this.#lines.next, limitMs))) return;
      await watched(
        checkpoints.write(checkpoints.key.sign(head, new Date(this.#now()).toISOString())),
        'the write of a checkpoint',
        (error) => observer.checkpointFailed(error),
      );
      this.#lastCheckpoint = head.hash;
    } catch (error) {
      observer.checkpointFailed(error);
    }
  }
}
