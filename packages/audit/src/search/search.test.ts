import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Chain } from '../chain.ts';
import { sealed } from '../trail-under-test.ts';
import { linesOfFile, lanesOfFolder, type PlacedLine } from './files.ts';
import { searchBack, type SearchResult } from './search.ts';

const folders: string[] = [];
afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 22, 8, minute)).toISOString();
const all = { records: 1_000, ms: 60_000, bytes: 1e9 };

/** Three writers: the first two write in turns, the last comes after them; the first has two files. */
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'omnibus-search-'));
  folders.push(made);
  const chains = ['a', 'b', 'c'].map((name) => new Chain(name));
  const lines: string[][] = [[], [], []];
  for (let minute = 0; minute < 60; minute += 1) {
    const writer = minute >= 50 ? 2 : minute % 2;
    lines[writer]?.push(
      sealed(
        chains[writer] as Chain,
        `"time":"${at(minute)}","event.name":"mcp.call","omnibus.server":"${minute % 3 === 0 ? 'shop' : 'mail'}","user.id":"ann${'n'.repeat(minute * 50)}"`,
      ),
    );
  }
  const [a = [], b = [], c = []] = lines;
  await writeFile(join(made, 'a-000001.jsonl'), `${a.slice(0, 10).join('\n')}\n`);
  await writeFile(join(made, 'a-000002.jsonl'), `${a.slice(10).join('\n')}\n`);
  await writeFile(join(made, 'b-000001.jsonl'), `not a record\n${b.join('\n')}\n{"half":`);
  await writeFile(join(made, 'c-000001.jsonl'), `${c.join('\n')}\n`);
  return made;
}

const timesOf = ({ found }: SearchResult): unknown[] => found.map(({ record }) => record['time']);

it('finds the records of all writers from the latest back, page by page, each once', async () => {
  const place = await folder();
  const lanes = await lanesOfFolder(place, undefined);
  expect(lanes.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  const expected = Array.from({ length: 60 }, (_, index) => at(59 - index));
  expect(timesOf(await searchBack(lanes, {}, all))).toEqual(expected);
  for (const records of [1, 7, 25]) {
    const pages: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await searchBack(await lanesOfFolder(place, undefined), {}, { ...all, records }, cursor);
      pages.push(...timesOf(page));
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(pages).toEqual(expected);
  }
});

it('stops when it has read enough, says how far it has come, and goes on from there', async () => {
  const lanes = await lanesOfFolder(await folder(), undefined);
  const first = await searchBack(lanes, { server: 'nowhere' }, { ...all, bytes: 1 });
  expect(first).toMatchObject({ found: [], records: 1, reached: at(59), cursor: expect.any(String) as string });
  const rest = await searchBack(lanes, { server: 'shop' }, all, first.cursor);
  expect({ first: timesOf(rest)[0], cursor: rest.cursor, records: rest.records }).toEqual({
    first: at(57),
    cursor: undefined,
    records: 59,
  });
  await expect(searchBack(lanes, {}, all, 'nonsense')).rejects.toThrow('the cursor is none of ours');
});

it('filters by names, beginnings of names, and time', async () => {
  const lanes = await lanesOfFolder(await folder(), undefined);
  expect(timesOf(await searchBack(lanes, { server: 'shop', since: at(51), until: at(57) }, all))).toEqual([
    at(54),
    at(51),
  ]);
  expect(timesOf(await searchBack(lanes, { who: 'ann', until: at(10) }, all))).toEqual([at(0)]);
  expect(timesOf(await searchBack(lanes, { who: 'ann*', until: at(2) }, all))).toEqual([at(1), at(0)]);
});

it('a record is read again from its position, with the one before it', async () => {
  const lanes = await lanesOfFolder(await folder(), undefined);
  const {
    found: [record],
  } = await searchBack(lanes, { server: 'shop', until: at(48) }, { ...all, records: 1 });
  const lane = lanes.find(({ name }) => name === record?.lane);
  const lines = lane?.read(record?.from);
  const [self, before] = [
    JSON.parse((await lines?.next())?.value.text as string) as Record<string, unknown>,
    JSON.parse((await lines?.next())?.value.text as string) as Record<string, unknown>,
  ];
  await lines?.return?.();
  expect([self['time'], before['time']]).toEqual([record?.record['time'], at(43)]);
  expect(before['hash']).toBe(record?.prev);
});

it('lines are read from the beginning too, each with its place, and the last one is said to be torn', async () => {
  const file = join(await folder(), 'b-000001.jsonl');
  const lines: PlacedLine[] = [];
  for await (const line of linesOfFile(file)) lines.push(line);
  expect([lines[0], lines.at(-1)]).toEqual([
    { text: 'not a record', place: `${file}:1`, isWhole: true },
    { text: '{"half":', place: `${file}:27`, isWhole: false },
  ]);
  expect(lines.map(({ text }) => text).join('\n')).toBe(await readFile(file, 'utf8'));
});
