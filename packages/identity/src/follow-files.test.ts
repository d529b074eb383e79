import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { followFiles } from './follow-files.ts';

async function follow(name: string): Promise<{ readonly file: string; readonly seen: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-follow-'));
  const file = join(folder, name);
  const seen: string[] = [];
  const end = await followFiles([file], {
    changed: () => seen.push('changed'),
    unfollowed: (problem) => seen.push(problem),
  });
  onTestFinished(async () => {
    await end();
    await rm(folder, { recursive: true });
  });
  return { file, seen };
}

it('a file that is made, changed or removed is noticed', async () => {
  const { file, seen } = await follow('keys.yaml');
  for (const [index, change] of [() => writeFile(file, 'a'), () => writeFile(file, 'b'), () => rm(file)].entries()) {
    await change();
    await expect.poll(() => seen).toHaveLength(index + 1);
  }
  expect(new Set(seen)).toEqual(new Set(['changed']));
});

it('when the system follows no file, whoever runs the gateway is told so once, with its name and the reason', async () => {
  const { file, seen } = await follow('k'.repeat(300));
  await expect
    .poll(() => seen)
    .toEqual([expect.stringMatching(`^changes of ${file} are not noticed until the next start: ENAMETOOLONG`)]);
});
