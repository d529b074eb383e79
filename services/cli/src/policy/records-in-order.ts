/** Audit records of several writers, read in the order of their times with one record of each in memory. */
import { linesOfFile, type AnyRecord } from '@omnibus/audit';
import { objectIn } from '@omnibus/protocol';

/** The files of one writer, in the order in which they were written. */
export type Lane = readonly string[];

interface Open {
  readonly rest: AsyncGenerator<AnyRecord>;
  record: AnyRecord;
}

/**
 * A writer is opened when its first record is due, and closed after its last, so that the open files are those of processes that ran at one time.
 * @param unreadable is called for each line that is no record; `omnibus audit verify` reports such lines.
 */
export async function* recordsInOrder(lanes: readonly Lane[], unreadable: () => void): AsyncGenerator<AnyRecord> {
  const begins: { readonly lane: Lane; readonly from: string }[] = [];
  for (const lane of lanes) {
    for await (const record of recordsOf(lane, () => undefined)) {
      begins.push({ lane, from: timeOf(record) });
      break;
    }
  }
  const waiting = begins.toSorted((one, other) => compare(other.from, one.from));
  const open: Open[] = [];
  try {
    for (;;) {
      let [least] = open;
      for (const each of open) if (least !== undefined && timeOf(each.record) < timeOf(least.record)) least = each;
      const next = waiting.at(-1);
      if (next !== undefined && (least === undefined || next.from <= timeOf(least.record))) {
        waiting.pop();
        const rest = recordsOf(next.lane, unreadable);
        const first = await rest.next();
        if (first.done !== true) open.push({ rest, record: first.value });
        continue;
      }
      if (least === undefined) return;
      yield least.record;
      const after = await least.rest.next();
      if (after.done === true) open.splice(open.indexOf(least), 1);
      else least.record = after.value;
    }
  } finally {
    for (const { rest } of open) await rest.return(undefined);
  }
}

async function* recordsOf(files: Lane, unreadable: () => void): AsyncGenerator<AnyRecord> {
  for (const file of files)
    for await (const { text } of linesOfFile(file)) {
      const record = objectIn(text);
      if (record !== undefined) yield record;
      else if (text !== '') unreadable();
    }
}

// Times of records are ISO 8601 in UTC with milliseconds, so their texts are in their order.
const timeOf = ({ time }: AnyRecord): string => (typeof time === 'string' ? time : '');
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
