/**
 * Searches records from the latest back, over the chains of several writers at once. A search stops when it has found enough, or has read for long enough, and goes on
 * from there the next time: no state stays in between.
 */
import { objectIn } from '@omnibus/protocol';
import { readLink, type Link } from '../chain.ts';
import { recordFilter, type RecordFilter } from './filter.ts';

export interface LaneLine {
  readonly text: string;
  /** The position from which this line is read again. */
  readonly from: string;
  /** The position from which the line before it is read. */
  readonly rest: string;
  readonly bytes: number;
}

/** Lines that are read from the latest back: those of one writer, or of a stream. */
export interface Lane {
  readonly name: string;
  /** @param from a position; undefined: the latest line first. */
  read(from: string | undefined): AsyncIterableIterator<LaneLine>;
}

export interface SearchBounds {
  readonly records: number;
  readonly ms: number;
  readonly bytes: number;
}

interface Found extends Link {
  readonly lane: string;
  /** The position from which it is read again. */
  readonly from: string;
}

export interface SearchResult {
  /** The latest first. */
  readonly found: readonly Found[];
  /** Where the search goes on; undefined when everything was searched. */
  readonly cursor: string | undefined;
  /** The time of the oldest record that was read. */
  readonly reached: string | undefined;
  readonly records: number;
  readonly bytes: number;
}

/**
 * A record may say the time at which its act began, and is written when the act ends: in a chain it may stand after later ones. So a search with `since` reads on until
 * records are older by this.
 */
const slackMs = 10 * 60_000;
/** Bound on lanes that are in the middle of being read, so that a cursor has a bound. */
const maxOpen = 100;

interface Position {
  /** The time and lane of the oldest record that was read. */
  readonly time: string;
  readonly lane: string;
  /** Where lanes go on that were read in part. One that is not here was not begun if its latest record is older than `time`, and was read to its end otherwise. */
  readonly lanes: Readonly<Record<string, string>>;
}

interface Head {
  readonly lane: string;
  readonly lines: AsyncIterableIterator<LaneLine>;
  readonly line: LaneLine;
  readonly link: Link;
  readonly time: string;
}

/** @param cursor of an earlier search with the same filter. @throws {Error} for a cursor that is none, and when a file cannot be read. */
export async function searchBack(
  lanes: readonly Lane[],
  filter: RecordFilter,
  bounds: SearchBounds,
  cursor?: string,
  now = performance.now.bind(performance),
): Promise<SearchResult> {
  const begun = cursor === undefined ? undefined : positionOf(cursor);
  const heads = new Heads(filter, begun);
  const matches = recordFilter(filter);
  const deadline = now() + bounds.ms;
  const found: Found[] = [];
  let [time, lane] = [begun?.time, begun?.lane];
  let records = 0;
  try {
    await heads.open(lanes);
    for (;;) {
      const head = heads.latest();
      if (head === undefined) return { found, cursor: undefined, reached: time, records, bytes: heads.bytes };
      records += 1;
      if (time === undefined || isBefore(head, time, lane as string)) [time, lane] = [head.time, head.lane];
      if (matches(head.link.record)) found.push({ ...head.link, lane: head.lane, from: head.line.from });
      await heads.advance(head);
      if (found.length < bounds.records && now() < deadline && heads.bytes < bounds.bytes) continue;
      if (heads.latest() === undefined) continue;
      return { found, cursor: heads.cursor(time, lane), reached: time, records, bytes: heads.bytes };
    }
  } finally {
    await heads.close();
  }
}

/** The latest record of each lane that is not read yet. */
class Heads {
  /** Bytes that were read. */
  bytes = 0;
  readonly #heads: Head[] = [];
  /** Records before this are not wanted; undefined for all. */
  readonly #oldest: string | undefined;
  readonly #begun: Position | undefined;
  /** Where lanes go on that were read in part. */
  readonly #places: Map<string, string>;

  constructor({ since }: RecordFilter, begun: Position | undefined) {
    this.#oldest = since === undefined ? undefined : new Date(Date.parse(since) - slackMs).toISOString();
    this.#begun = begun;
    this.#places = new Map<string, string>(Object.entries(begun?.lanes ?? {}));
  }

  async open(lanes: readonly Lane[]): Promise<void> {
    const begun = this.#begun;
    for (const each of lanes) {
      const from = begun?.lanes[each.name];
      const head = await this.#next(each.name, each.read(from));
      if (head === undefined) this.#places.delete(each.name);
      else if (begun === undefined || from !== undefined || isBefore(head, begun.time, begun.lane))
        this.#heads.push(head);
      else await head.lines.return?.();
    }
  }

  latest(): Head | undefined {
    let best = this.#heads[0];
    for (const head of this.#heads) if (best !== undefined && isBefore(best, head.time, head.lane)) best = head;
    return best;
  }

  /** Replaces a record by the one before it in its lane. */
  async advance(head: Head): Promise<void> {
    const at = this.#heads.indexOf(head);
    const following = await this.#next(head.lane, head.lines);
    if (following === undefined) {
      this.#heads.splice(at, 1);
      this.#places.delete(head.lane);
    } else {
      this.#heads[at] = following;
      this.#places.set(head.lane, head.line.rest);
    }
  }

  /** @throws {Error} if too many lanes were read in part. */
  cursor(time: string | undefined, lane: string | undefined): string {
    if (this.#places.size > maxOpen)
      throw new Error(`more than ${maxOpen} processes wrote at the same time: search a shorter time`);
    return Buffer.from(JSON.stringify({ time, lane, lanes: Object.fromEntries(this.#places) })).toString('base64url');
  }

  async close(): Promise<void> {
    for (const { lines } of this.#heads) await lines.return?.();
  }

  /** Reads the next record of a lane. @returns undefined at its end. */
  async #next(lane: string, lines: AsyncIterableIterator<LaneLine>): Promise<Head | undefined> {
    for (;;) {
      const { done, value } = await lines.next();
      if (done === true) return undefined;
      this.bytes += value.bytes;
      const link = readLink(value.text);
      if (link === undefined) continue; // `verify` reports lines that are no records.
      const time = String(link.record['time']);
      if (this.#oldest === undefined || time >= this.#oldest) return { lane, lines, line: value, link, time };
      await lines.return?.();
      return undefined;
    }
  }
}

/** Whether a record comes after another in the order of a search, which goes back. */
function isBefore(head: Pick<Head, 'time' | 'lane'>, time: string, lane: string): boolean {
  return head.time < time || (head.time === time && head.lane < lane);
}

function positionOf(cursor: string): Position {
  const said = objectIn(Buffer.from(cursor, 'base64url').toString()) as Partial<Position> | undefined;
  if (
    typeof said?.time === 'string' &&
    typeof said.lane === 'string' &&
    typeof said.lanes === 'object' &&
    said.lanes !== null &&
    Object.values(said.lanes).every((each) => typeof each === 'string')
  )
    return { time: said.time, lane: said.lane, lanes: { ...said.lanes } };
  throw new Error('the cursor is none of ours');
}
