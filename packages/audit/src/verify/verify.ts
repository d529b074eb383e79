/**
 * Reads chains and reports every deviation: records that were edited, removed, moved or cut off; chains that a killed process left open; and chains that
 * differ from their checkpoints.
 */
import { genesis, readLink, type Head, type Link } from '../chain.ts';
import type { Checkpoint, CheckpointKey } from '../checkpoint.ts';

/**
 * `harm`: a record was changed or removed. `foreign`: another program has written into the stream of records, and no record of the gateway was changed.
 * `gap`: records are missing, and the chain itself says so. `open`: the chain of a writer has no end, or nothing confirms it.
 */
export interface Finding {
  readonly weight: 'harm' | 'foreign' | 'gap' | 'open';
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
    | 'foreign'
    | 'gap'
    | 'torn'
    | 'unclosed'
    | 'unconfirmed'
    | 'retired';
  readonly writer: string | undefined;
  readonly text: string;
}

/** The place of a line in a stream; only the process in the entry's name should have written it. */
export interface Entry {
  readonly writer: string;
  readonly number: number;
}

export interface VerifyResult {
  readonly findings: readonly Finding[];
  /** One that is there twice, as sinks may have it, counts once. */
  readonly records: number;
  readonly writers: number;
  readonly checkpoints: number;
}

/** The state of one writer's chain. */
interface Known {
  /** Hashes of records by number; the first record has number 1. */
  readonly hashes: Map<number, string>;
  readonly prevs: Map<number, string>;
  /** Numbers of the entries that records stand in, of records in a stream. */
  readonly entries: Map<number, number>;
  last: number;
  /** The number of the record that says that the chain ends. */
  closedBy: number | undefined;
  lastPlace: string;
  lastTime: string;
}

/** A record that says that another chain has lost its oldest records because they were old, and where it stands. */
interface Retirement {
  readonly head: Head;
  readonly by: Pick<Head, 'writer' | 'seq'>;
}

/** The first record of a chain that was begun because a stranger has written under the name of the chain before it. */
interface Break {
  readonly by: string;
  /** The name in the stream, and the last entry that the process itself has written under it. */
  readonly place: Entry;
  /** The end of the chain before. */
  readonly after: Head;
}

interface Found extends Finding {
  readonly entry: Entry | undefined;
}

/** A record that stands under the name of another chain, as the last ones of a chain do that was broken off. */
interface Guest {
  readonly link: Link;
  readonly place: string;
  readonly entry: Entry;
}

export class Verifier {
  #findings: Found[] = [];
  readonly #known = new Map<string, Known>();
  readonly #retirements: Retirement[] = [];
  readonly #breaks: Break[] = [];
  readonly #guests: Guest[] = [];
  /** Entries that were reported as foreign. */
  readonly #foreign = new Set<number>();
  /** How far signed checkpoints confirm each chain that they name, 0 where its record is not there; undefined where there are none. */
  #confirmed: Map<string, number> | undefined;
  #records = 0;

  /**
   * Checks one line.
   * @param place of the line, as text: "audit/x.jsonl:12".
   * @param isWhole false for a last line without a line end.
   * @param entry of the stream that the line stands in; undefined for a line of a file.
   */
  add(line: string, place: string, isWhole = true, entry?: Entry): void {
    if (line === '') return;
    const link = readLink(line);
    if (link === undefined) {
      if (entry !== undefined) this.#isForeign(entry);
      else if (isWhole) this.#find('harm', 'unreadable', undefined, `${place}: this is no record of a chain`);
      else
        this.#find(
          'gap',
          'torn',
          undefined,
          `${place}: the last record is not whole, as when a process is killed while it writes`,
        );
      return;
    }
    if (entry === undefined || entry.writer === link.writer) this.#take(link, place, entry);
    else this.#guests.push({ link: { ...link, record: noted(link.record) }, place, entry });
  }

  /** Whether a chain is known to have gone on under another name, or something is wrong with it so far. */
  get isDoubtful(): boolean {
    return this.#findings.length > 0;
  }

  /**
   * Compares the chains with checkpoints, and ends.
   * @param key undefined: signatures are not checked.
   * @param isAsked whether a record that excuses the absence of others counts only where a checkpoint confirms it.
   */
  finish(
    checkpoints: readonly Checkpoint[],
    key: CheckpointKey | undefined,
    isAsked = key !== undefined && checkpoints.length > 0,
  ): VerifyResult {
    const signed = checkpoints.filter((checkpoint) => this.#isSigned(checkpoint, key));
    if (isAsked) this.#confirmed = new Map();
    this.#confirm(signed);
    this.#settle();
    this.#confirm(signed);
    for (const [writer, known] of this.#known) this.#finish(writer, known);
    for (const checkpoint of signed) this.#compare(checkpoint);
    return {
      findings: this.#findings.map(({ weight, kind, writer, text }) => ({ weight, kind, writer, text })),
      records: this.#records,
      writers: this.#known.size,
      checkpoints: checkpoints.length,
    };
  }

  #find(
    weight: Finding['weight'],
    kind: Finding['kind'],
    writer: string | undefined,
    text: string,
    entry?: Entry,
  ): void {
    this.#findings.push({ weight, kind, writer, text, entry });
  }

  #isForeign(entry: Entry): void {
    if (this.#foreign.has(entry.number)) return;
    this.#foreign.add(entry.number);
    const { writer, number } = entry;
    const text = `entry ${number} of the stream, under the name ${writer}, is not of the gateway: another program has written it`;
    this.#find('foreign', 'foreign', writer, text, entry);
  }

  #take(link: Link, place: string, entry: Entry | undefined): void {
    const { writer, seq, prev, hash, isGenuine, record } = link;
    let known = this.#known.get(writer);
    if (known === undefined) {
      known = {
        hashes: new Map(),
        prevs: new Map(),
        entries: new Map(),
        last: 0,
        closedBy: undefined,
        lastPlace: place,
        lastTime: '',
      };
      this.#known.set(writer, known);
    }
    const harm = (kind: Finding['kind'], text: string): void =>
      this.#find('harm', kind, writer, `${place}: ${text}`, entry);
    if (!isGenuine) harm('edited', `record ${seq} of ${writer} is not as it was written`);
    const before = known.hashes.get(seq);
    if (before !== undefined) {
      // A sink that got a record twice has it twice.
      if (before !== hash) harm('fork', `there is another record ${seq} of ${writer}`);
      return;
    }
    if (entry !== undefined && known.closedBy !== undefined && seq > known.closedBy) {
      this.#isForeign(entry);
      return;
    }
    this.#records += 1;
    if (seq < known.last) harm('reordered', `record ${seq} of ${writer} stands after record ${known.last}`);
    known.hashes.set(seq, hash);
    if (entry !== undefined) known.entries.set(seq, entry.number);
    const linked = known.hashes.get(seq - 1);
    if (linked === undefined) known.prevs.set(seq, prev);
    else if (linked !== prev && isGenuine)
      harm('edited', `record ${seq} of ${writer} does not follow the record ${seq - 1} that is there`);
    if (seq < known.last) return;
    known.last = seq;
    known.lastPlace = place;
    known.lastTime = String(record['time']);
    this.#note(known, link, place, entry);
  }

  #note(known: Known, { writer, seq, record }: Link, place: string, entry: Entry | undefined): void {
    const { 'event.name': name } = record;
    const said = (member: string): string => {
      const value = record[`omnibus.${member}`];
      return typeof value === 'number' || typeof value === 'string' ? String(value) : '';
    };
    if (known.closedBy !== undefined)
      this.#find('harm', 'fork', writer, `${place}: ${writer} had ended before this record`, entry);
    if (name === 'audit.closed') known.closedBy = seq;
    if (name === 'audit.gap')
      this.#find(
        'gap',
        'gap',
        writer,
        `${place}: ${said('records')} records of ${writer} since ${said('since')} were not kept: their sink did not take them in time`,
      );
    if (name === 'audit.closed' && said('missed') !== '')
      this.#find('gap', 'gap', writer, `${place}: ${said('missed')} records of ${writer} were not kept before its end`);
    if (name === 'audit.retired')
      this.#retirements.push({
        head: { writer: said('writer'), seq: Number(said('seq')), hash: said('hash') },
        by: { writer, seq },
      });
    if (name === 'audit.opened' && seq === 1 && said('after.writer') !== '')
      this.#breaks.push({
        by: writer,
        place: { writer: said('break.writer'), number: Number(said('break.entry')) },
        after: { writer: said('after.writer'), seq: Number(said('after.seq')), hash: said('after.hash') },
      });
  }

  #isSigned(checkpoint: Checkpoint, key: CheckpointKey | undefined): boolean {
    const { writer, time } = checkpoint;
    if (key === undefined || (checkpoint.key === key.id && key.verify(checkpoint))) return true;
    this.#find('harm', 'forged', writer, `the checkpoint of ${writer} of ${time} is not signed with this key`);
    return false;
  }

  #confirm(signed: readonly Checkpoint[]): void {
    for (const { writer, seq, hash } of signed) {
      const isThere = this.#known.get(writer)?.hashes.get(seq) === hash;
      this.#confirmed?.set(writer, Math.max(isThere ? seq : 0, this.#confirmed.get(writer) ?? 0));
    }
  }

  /** Whether a checkpoint confirms a record, or the beginning of a chain that goes on after it; true without a request for checkpoints. */
  #isConfirmed(writer: string, seq: number, looked: ReadonlySet<string> = new Set()): boolean {
    if (this.#confirmed === undefined || (this.#confirmed.get(writer) ?? 0) >= seq) return true;
    if (looked.has(writer)) return false;
    const without = new Set([...looked, writer]);
    return this.#breaks.some(
      ({ by, after }) =>
        after.writer === writer &&
        after.seq >= seq &&
        this.#known.get(writer)?.hashes.get(after.seq) === after.hash &&
        this.#isConfirmed(by, 1, without),
    );
  }

  /** Takes out what strangers have written under the names of chains that were broken off, and puts in what their writers have written elsewhere. */
  #settle(): void {
    const breaks = this.#breaks.filter(({ by }) => this.#isConfirmed(by, 1));
    const endOf = new Map(breaks.map(({ place }) => [place.writer, place.number]));
    const isLate = ({ writer, number }: Entry): boolean => number > (endOf.get(writer) ?? Infinity);
    const removed: { readonly writer: string; readonly seq: number; readonly hash: string; readonly entry: Entry }[] =
      [];
    for (const writer of endOf.keys()) {
      const known = this.#known.get(writer);
      if (known === undefined) continue;
      for (const [seq, number] of known.entries) {
        const entry = { writer, number };
        if (!isLate(entry)) continue;
        removed.push({ writer, seq, hash: known.hashes.get(seq) as string, entry });
        known.hashes.delete(seq);
        known.prevs.delete(seq);
        known.entries.delete(seq);
        if (known.closedBy === seq) known.closedBy = undefined;
      }
      known.last = 0;
      for (const seq of known.hashes.keys()) known.last = Math.max(known.last, seq);
    }
    this.#records -= removed.length;
    const strange = this.#findings.filter(
      ({ kind, entry }) => kind !== 'foreign' && entry !== undefined && isLate(entry),
    );
    this.#findings = this.#findings.filter((finding) => !strange.includes(finding));
    for (const { link, place, entry } of this.#guests) {
      if (!isLate(entry) && this.#goesOn(link.writer, entry.writer, breaks)) this.#take(link, place, undefined);
      else this.#isForeign(entry);
    }
    for (const { writer, seq, hash, entry } of removed)
      if (this.#known.get(writer)?.hashes.get(seq) !== hash) this.#isForeign(entry);
    for (const { entry } of strange) if (entry !== undefined) this.#isForeign(entry);
  }

  /** Whether the end of a chain may stand under the name of a later one of the same process. */
  #goesOn(chain: string, name: string, breaks: readonly Break[]): boolean {
    const looked = new Set<string>();
    for (let at: string | undefined = name; at !== undefined && !looked.has(at);) {
      looked.add(at);
      const before: Break | undefined = breaks.find(({ by }) => by === at);
      if (before?.after.writer === chain || before?.place.writer === chain) return true;
      at = before?.after.writer;
    }
    return false;
  }

  #finish(writer: string, known: Known): void {
    const { hashes, prevs, closedBy, last, lastPlace, lastTime } = known;
    let previous = 0;
    // Only numbers that are there are looked at: a forger can give a record any number.
    for (const seq of [...hashes.keys()].sort((one, other) => one - other)) {
      const before = prevs.get(seq);
      if (seq > previous + 1) this.#missing(writer, previous + 1, seq - 1, before);
      else if (before !== undefined && before !== (seq === 1 ? genesis : hashes.get(seq - 1)))
        this.#find('harm', 'edited', writer, `record ${seq} of ${writer} does not follow the record before it`);
      previous = seq;
    }
    if (last === 0) return;
    const next = this.#breaks.find(({ by, after }) => after.writer === writer && this.#isConfirmed(by, 1));
    const isConfirmed = this.#isConfirmed(writer, last);
    if (next !== undefined && (next.after.seq !== last || next.after.hash !== hashes.get(last)))
      this.#find(
        'harm',
        'cut',
        writer,
        `${lastPlace}: ${writer} ends with record ${last}, and ${next.by}, which goes on after it, says that it had ${next.after.seq}`,
      );
    if (this.#confirmed?.has(writer) === false && !this.#isConfirmed(writer, 1))
      this.#find(
        'open',
        'unconfirmed',
        writer,
        `${lastPlace}: no checkpoint names ${writer}: nothing shows that a gateway has written its ${hashes.size} records`,
      );
    else if (closedBy !== undefined && !isConfirmed)
      this.#find(
        'open',
        'unconfirmed',
        writer,
        `${lastPlace}: ${writer} says that it ends with record ${last}, and no checkpoint confirms it: later records may have been removed`,
      );
    if (closedBy === undefined && next === undefined)
      this.#find(
        'open',
        'unclosed',
        writer,
        `${lastPlace}: ${writer} never said that it ends: it runs still, or was killed, and what came in the quarter of a second after record ${last} (${lastTime}) is not there`,
      );
  }

  /** The last record of a chain that was removed because it was old, by records that count. */
  #retiredOf(writer: string): Head | undefined {
    return this.#retirements
      .filter(({ head, by }) => head.writer === writer && this.#isConfirmed(by.writer, by.seq))
      .map(({ head }) => head)
      .toSorted((one, other) => one.seq - other.seq)
      .at(-1);
  }

  #missing(writer: string, from: number, to: number, prev: string | undefined): void {
    const retired = from === 1 ? this.#retiredOf(writer) : undefined;
    const isOld = retired !== undefined && retired.seq >= to && (retired.seq > to || retired.hash === prev);
    const which = from === to ? `record ${from}` : `records ${from} to ${to}`;
    if (isOld)
      this.#find(
        'gap',
        'retired',
        writer,
        `${which} of ${writer} were removed because they were old, which is on record${this.#confirmed === undefined ? ', and no checkpoint confirms it' : ''}`,
      );
    else this.#find('harm', 'missing', writer, `${which} of ${writer} ${from === to ? 'is' : 'are'} not there`);
  }

  #compare({ writer, seq, hash, time }: Checkpoint): void {
    const known = this.#known.get(writer);
    const found = known?.hashes.get(seq);
    if (found === hash) return;
    if (found === undefined && (this.#retiredOf(writer)?.seq ?? 0) >= seq) return;
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

/** What `Verifier` reads of a record, without what can be large. */
function noted(record: Link['record']): Link['record'] {
  const name = record['event.name'];
  return typeof name === 'string' && name.startsWith('audit.') ? record : { time: record['time'], 'event.name': name };
}
