/**
 * Reads chains and reports every deviation: records that were edited, removed, moved or cut off; chains that a killed process left open; and chains that
 * differ from their checkpoints.
 */
import { genesis, readLink, type Head, type Link } from '../chain.ts';
import type { Checkpoint, CheckpointKey } from '../checkpoint.ts';

/** `harm`: a record was changed or removed. `gap`: records are missing, and the chain itself says so. `open`: the chain of a writer has no end. */
export interface Finding {
  readonly weight: 'harm' | 'gap' | 'open';
  readonly kind:
    | 'edited'
    | 'unreadable'
    | 'missing'
    | 'reordered'
    | 'fork'
    | 'cut'
    | 'rewritten'
    | 'forged'
    | 'lost'
    | 'gap'
    | 'torn'
    | 'unclosed'
    | 'retired';
  readonly writer: string | undefined;
  readonly text: string;
}

export interface VerifyResult {
  readonly findings: readonly Finding[];
  /** One that is there twice, as sinks may have it, counts once. */
  readonly records: number;
  readonly writers: number;
  readonly checkpoints: number;
}

/** What is known of one writer's chain. */
interface Known {
  /** Hashes of records by number; the first record has number 1. */
  readonly hashes: Map<number, string>;
  readonly prevs: Map<number, string>;
  last: number;
  isClosed: boolean;
  lastPlace: string;
  lastTime: string;
  /** The last record that was removed because it was old. */
  retired: Head | undefined;
}

export class Verifier {
  readonly #findings: Finding[] = [];
  readonly #known = new Map<string, Known>();
  readonly #retired: Head[] = [];
  #records = 0;

  /**
   * Checks one line.
   * @param place of the line, as text: "audit/x.jsonl:12".
   * @param isWhole false for a last line without a line end.
   */
  add(line: string, place: string, isWhole = true): void {
    if (line === '') return;
    const link = readLink(line);
    if (link === undefined) {
      const isTorn = !isWhole;
      this.#find(
        isTorn ? 'gap' : 'harm',
        isTorn ? 'torn' : 'unreadable',
        undefined,
        isTorn
          ? `${place}: the last record is not whole, as when a process is killed while it writes`
          : `${place}: this is no record of a chain`,
      );
      return;
    }
    this.#take(link, place);
  }

  /** Compares the chains with checkpoints. @param key undefined: signatures are not checked. */
  finish(checkpoints: readonly Checkpoint[], key: CheckpointKey | undefined): VerifyResult {
    for (const head of this.#retired) {
      const known = this.#known.get(head.writer);
      if (known !== undefined && (known.retired === undefined || known.retired.seq < head.seq)) known.retired = head;
    }
    for (const [writer, known] of this.#known) this.#finish(writer, known);
    for (const checkpoint of checkpoints) this.#compare(checkpoint, key);
    return {
      findings: this.#findings,
      records: this.#records,
      writers: this.#known.size,
      checkpoints: checkpoints.length,
    };
  }

  #find(weight: Finding['weight'], kind: Finding['kind'], writer: string | undefined, text: string): void {
    this.#findings.push({ weight, kind, writer, text });
  }

  #take(link: Link, place: string): void {
    const { writer, seq, prev, hash, isGenuine, record } = link;
    let known = this.#known.get(writer);
    if (known === undefined) {
      known = {
        hashes: new Map(),
        prevs: new Map(),
        last: 0,
        isClosed: false,
        lastPlace: place,
        lastTime: '',
        retired: undefined,
      };
      this.#known.set(writer, known);
    }
    if (!isGenuine)
      this.#find('harm', 'edited', writer, `${place}: record ${seq} of ${writer} is not as it was written`);
    const before = known.hashes.get(seq);
    if (before !== undefined) {
      // A sink that was given a record twice has it twice.
      if (before !== hash) this.#find('harm', 'fork', writer, `${place}: there is another record ${seq} of ${writer}`);
      return;
    }
    this.#records += 1;
    if (seq < known.last)
      this.#find('harm', 'reordered', writer, `${place}: record ${seq} of ${writer} stands after record ${known.last}`);
    known.hashes.set(seq, hash);
    const linked = known.hashes.get(seq - 1);
    if (linked === undefined) known.prevs.set(seq, prev);
    else if (linked !== prev && isGenuine)
      this.#find(
        'harm',
        'edited',
        writer,
        `${place}: record ${seq} of ${writer} does not follow the record ${seq - 1} that is there`,
      );
    if (seq < known.last) return;
    known.last = seq;
    known.lastPlace = place;
    known.lastTime = String(record['time']);
    this.#note(known, writer, place, record);
  }

  #note(known: Known, writer: string, place: string, record: Link['record']): void {
    const { 'event.name': name } = record;
    const said = (member: string): string =>
      typeof record[member] === 'number' || typeof record[member] === 'string' ? String(record[member]) : '';
    if (known.isClosed) this.#find('harm', 'fork', writer, `${place}: ${writer} had ended before this record`);
    if (name === 'audit.closed') known.isClosed = true;
    if (name === 'audit.gap')
      this.#find(
        'gap',
        'gap',
        writer,
        `${place}: ${said('omnibus.records')} records of ${writer} since ${said('omnibus.since')} were not kept: their sink did not take them in time`,
      );
    if (name === 'audit.closed' && said('omnibus.missed') !== '')
      this.#find(
        'gap',
        'gap',
        writer,
        `${place}: ${said('omnibus.missed')} records of ${writer} were not kept before its end`,
      );
    if (name === 'audit.retired')
      this.#retired.push({
        writer: said('omnibus.writer'),
        seq: Number(said('omnibus.seq')),
        hash: said('omnibus.hash'),
      });
  }

  #finish(writer: string, { hashes, prevs, isClosed, last, lastPlace, lastTime, retired }: Known): void {
    let previous = 0;
    // Only numbers that are there are looked at: whoever can add a record can give it any.
    for (const seq of [...hashes.keys()].sort((one, other) => one - other)) {
      const before = prevs.get(seq);
      if (seq > previous + 1) this.#missing(writer, previous + 1, seq - 1, before, retired);
      else if (before !== undefined && before !== (seq === 1 ? genesis : hashes.get(seq - 1)))
        this.#find('harm', 'edited', writer, `record ${seq} of ${writer} does not follow the record before it`);
      previous = seq;
    }
    if (!isClosed)
      this.#find(
        'open',
        'unclosed',
        writer,
        `${lastPlace}: ${writer} never said that it ends: it runs still, or was killed, and what came in the quarter of a second after record ${last} (${lastTime}) is not there`,
      );
  }

  #missing(writer: string, from: number, to: number, prev: string | undefined, retired: Head | undefined): void {
    const isOld =
      from === 1 && retired !== undefined && retired.seq >= to && (retired.seq > to || retired.hash === prev);
    const which = from === to ? `record ${from}` : `records ${from} to ${to}`;
    if (isOld)
      this.#find(
        'gap',
        'retired',
        writer,
        `${which} of ${writer} were removed because they were old, which is on record`,
      );
    else this.#find('harm', 'missing', writer, `${which} of ${writer} ${from === to ? 'is' : 'are'} not there`);
  }

  #compare(checkpoint: Checkpoint, key: CheckpointKey | undefined): void {
    const { writer, seq, hash, time } = checkpoint;
    if (key !== undefined && (checkpoint.key !== key.id || !key.verify(checkpoint))) {
      this.#find('harm', 'forged', writer, `the checkpoint of ${writer} of ${time} is not signed with this key`);
      return;
    }
    const known = this.#known.get(writer);
    const isRetired =
      (known?.retired?.seq ?? this.#retired.findLast((head) => head.writer === writer)?.seq ?? 0) >= seq;
    const found = known?.hashes.get(seq);
    if (found === hash || (found === undefined && isRetired)) return;
    if (known === undefined)
      this.#find('harm', 'lost', writer, `of ${writer} there is nothing, and it had ${seq} records at ${time}`);
    else if (seq > known.last)
      this.#find(
        'harm',
        'cut',
        writer,
        `${known.lastPlace}: ${writer} ends with record ${known.last}, and it had ${seq} at ${time}`,
      );
    else if (found !== undefined)
      this.#find('harm', 'rewritten', writer, `record ${seq} of ${writer} is not the one that was there at ${time}`);
  }
}
