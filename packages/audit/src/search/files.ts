/** Reads files of records, from their beginning or from their end. */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { filesOf } from '../sinks/file.ts';
import type { Entry } from '../verify/verify.ts';
import type { Lane, LaneLine } from './search.ts';

/** Characters of a line; a record has about a thousand, and a few ten thousand at most. */
const maxLineCharacters = 16 * 1024 * 1024;
const chunkBytes = 64 * 1024;
const lineEnd = 0x0a;

/** One line of a file, and where it is. */
export interface PlacedLine {
  readonly text: string;
  /** `audit/x.jsonl:12`. */
  readonly place: string;
  /** Whether it ends with a line break; a record that was cut off does not. */
  readonly isWhole: boolean;
  /** Of a line of a stream. */
  readonly entry?: Entry | undefined;
}

export function linesOfEntry({ writer, number, text }: Entry & { readonly text: string }): readonly PlacedLine[] {
  const entry = { writer, number };
  return text.split('\n').map((line) => ({ text: line, place: `${writer}, entry ${number}`, isWhole: true, entry }));
}

export async function* linesOfFile(file: string): AsyncGenerator<PlacedLine> {
  let rest = '';
  let number = 0;
  for await (const chunk of createReadStream(file, {
    encoding: 'utf8',
    highWaterMark: 1024 * 1024,
  }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    for (const text of lines) yield { text, place: `${file}:${(number += 1)}`, isWhole: true };
    // No record is so long: its beginning suffices for a report.
    if (rest.length > maxLineCharacters) rest = rest.slice(0, maxLineCharacters);
  }
  if (rest !== '') yield { text: rest, place: `${file}:${number + 1}`, isWhole: false };
}

/** The files of a folder by writer, each in the order in which they were written. */
export async function writersOf(folder: string): Promise<ReadonlyMap<string, readonly string[]>> {
  return Map.groupBy(await filesOf(folder), (file) => basename(file).replace(/-\d{6,}\.jsonl$/, ''));
}

/** The lanes of a folder, one for each writer. @param since leaves out writers that have written nothing since then; ISO 8601. */
export async function lanesOfFolder(folder: string, since: string | undefined): Promise<readonly Lane[]> {
  const lanes: Lane[] = [];
  for (const [name, files] of await writersOf(folder)) {
    if (since !== undefined && (await stat(files.at(-1) as string)).mtimeMs < Date.parse(since)) continue;
    lanes.push({ name, read: (from) => backwards(files, from) });
  }
  return lanes;
}

/** @param from `NUMBER:OFFSET`: lines of that file that end there or before, and those of earlier files. */
async function* backwards(files: readonly string[], from: string | undefined): AsyncGenerator<LaneLine> {
  const [, number, offset] = /^(\d{6,}):(\d{1,15})$/.exec(from ?? '') ?? [];
  const begin = number === undefined ? files.length - 1 : files.findIndex((file) => file.endsWith(`-${number}.jsonl`));
  for (let index = begin; index >= 0; index -= 1) {
    const file = files[index] as string;
    const own = /-(\d{6,})\.jsonl$/.exec(file)?.[1] ?? '';
    yield* backwardsIn(file, own, index === begin && offset !== undefined ? Number(offset) : undefined);
  }
}

async function* backwardsIn(file: string, number: string, from: number | undefined): AsyncGenerator<LaneLine> {
  const handle = await open(file, 'r');
  try {
    let end = Math.min(from ?? Infinity, (await handle.stat()).size);
    // Read and not yet returned: the bytes from `at` to `end`.
    let at = end;
    let bytes: Buffer = Buffer.alloc(0);
    for (;;) {
      // The line break at the very end belongs to the last line.
      const cut = bytes.length === 0 ? -1 : bytes.lastIndexOf(lineEnd, bytes.length - 2);
      if (cut !== -1 || (at === 0 && bytes.length > 0)) {
        const line = bytes.subarray(cut + 1);
        const start = at + cut + 1;
        yield {
          text: line.toString().trimEnd(),
          from: `${number}:${end}`,
          rest: `${number}:${start}`,
          bytes: line.length,
        };
        end = start;
        bytes = bytes.subarray(0, cut + 1);
        continue;
      }
      if (at === 0 || bytes.length > maxLineCharacters) return;
      const length = Math.min(at, chunkBytes);
      const chunk = Buffer.alloc(length);
      const { bytesRead } = await handle.read(chunk, 0, length, at - length);
      if (bytesRead < length) return; // The file was cut meanwhile.
      bytes = Buffer.concat([chunk, bytes]);
      at -= length;
    }
  } finally {
    await handle.close();
  }
}
