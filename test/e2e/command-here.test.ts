/** The commands of tests that run in the test's own process (`inHere`): each sees its own folder. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { inHere } from '../support/command-here.ts';

it('a command in a folder of its own runs alone: commands before and after it resolve paths from the folder of the test', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'omnibus-here-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await writeFile(join(cwd, 'only-there.yaml'), 'mcpServers:\n  a: { url: http://127.0.0.1:1/mcp }\n');
  const check = ['check', 'only-there.yaml'];
  const { status: missing } = await inHere(check);
  expect(missing).not.toBe(0);
  const ran = await Promise.all([inHere(check), inHere(check, { cwd }), inHere(check), inHere(check, { cwd })]);
  expect(ran.map(({ status }) => status)).toEqual([missing, 0, missing, 0]);
});
