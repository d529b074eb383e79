import { mkdtemp, readdir, readFile, readlink, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { callOf, kindsOf, trailUnderTest, verify } from '../trail-under-test.ts';
import type { Head } from '../chain.ts';
import { batchOf } from '../lines.ts';
import { FileSink, filesOf, type FileSinkOptions } from './file.ts';

const day = 86_400_000;

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'omnibus-audit-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

function sinkOf(more: Partial<FileSinkOptions> & Pick<FileSinkOptions, 'folder'>): FileSink {
  return new FileSink({
    name: 'file',
    writer: 'session-under-test',
    maxBytes: 1_000_000,
    maxAgeMs: day,
    keepMs: 90 * day,
    keepBytes: 1_000_000_000,
    retired: () => undefined,
    ...more,
  });
}

async function linesIn(folder: string): Promise<string[]> {
  const texts = await Promise.all((await filesOf(folder)).map((file) => readFile(file, 'utf8')));
  return texts.join('').trimEnd().split('\n');
}

it('writes files that nobody else can read, goes on in the next one, and the chain goes through them', async () => {
  const at = await folder();
  const sink = sinkOf({ folder: join(at, 'new'), maxBytes: 4_000 });
  const { trail } = trailUnderTest([{ sink, isOptional: false }]);
  for (let round = 0; round < 5; round += 1) expect(await trail.confirm(callOf(round))).toBe(true);
  for (let number = 0; number < 300; number += 1) trail.record(callOf(number));
  await trail.close();
  const files = await filesOf(join(at, 'new'));
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(verify(await linesIn(join(at, 'new')))).toMatchObject({ findings: [], records: 307 });
});

it('removes what is old, and says so in the chain', async () => {
  const at = await folder();
  const before = trailUnderTest([{ sink: sinkOf({ folder: at, writer: 'session-before' }), isOptional: false }], {
    writer: 'session-before',
  });
  await before.trail.close();
  const [old] = await filesOf(at);
  await utimes(old as string, new Date(0), new Date(0));
  const heads: Head[] = [];
  const sink = sinkOf({
    folder: at,
    retired: (head) => {
      heads.push(head);
      trail.record({
        name: 'audit.retired',
        weight: 'always',
        more: { writer: head.writer, seq: head.seq, hash: head.hash },
      });
    },
  });
  const { trail } = trailUnderTest([{ sink, isOptional: false }]);
  expect(await trail.confirm(callOf(1))).toBe(true);
  await trail.close();
  expect(heads).toEqual([before.trail.head]);
  expect(await readdir(at)).toEqual(['session-under-test-000001.jsonl']);
  expect(kindsOf(verify(await linesIn(at)))).toEqual([]);
});

it('goes on when its folder comes back that was not there', async () => {
  const at = await folder();
  const file = join(at, 'taken');
  const { writeFile } = await import('node:fs/promises');
  await writeFile(file, 'in the way');
  const { trail, counted } = trailUnderTest([{ sink: sinkOf({ folder: file }), isOptional: false }]);
  trail.record(callOf(1));
  await expect.poll(() => counted.failed).toBe(1);
  await rm(file);
  await expect.poll(() => counted.recovered).toBe(1);
  await trail.close();
  expect(verify(await linesIn(file))).toMatchObject({ findings: [], records: 3 });
});

it('closes every file that it has left, whether or not something was written to it since its last sync', async () => {
  const at = await folder();
  const open = async (): Promise<number> =>
    (
      await Promise.all(
        (await readdir('/proc/self/fd')).map((each) => readlink(`/proc/self/fd/${each}`).catch(() => '')),
      )
    ).filter((each) => each.startsWith(at)).length;
  const sink = sinkOf({ folder: at, maxBytes: 1 });
  for (let number = 0; number < 5; number += 1) {
    await sink.write(batchOf([`{"number":${number}}`]));
    await sink.sync();
  }
  expect((await filesOf(at)).length).toBe(5);
  expect(await open()).toBeLessThanOrEqual(1);
  await sink.close();
  expect(await open()).toBe(0);
});
