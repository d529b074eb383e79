import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { watchConfigFile } from './watch.ts';

it('when the system does not follow the file, whoever runs the gateway is told why', async () => {
  const problems: string[] = [];
  const followed = await watchConfigFile(join(tmpdir(), `${'c'.repeat(300)}.yaml`), {
    changed: () => undefined,
    rejected: () => undefined,
    unfollowed: (problem) => problems.push(problem),
  });
  onTestFinished(() => followed.close());
  await expect.poll(() => problems).toContainEqual(expect.stringContaining('ENAMETOOLONG'));
});

it('a file that is removed is reported, and one that is there again is read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-watch-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'omnibus.yaml');
  await writeFile(file, 'mcpServers: {}\n');
  const heard: string[] = [];
  const followed = await watchConfigFile(file, {
    changed: ({ mcpServers }) => heard.push(Object.keys(mcpServers).join()),
    rejected: ([problem]) => heard.push(problem?.message ?? ''),
    unfollowed: (problem) => expect.fail(problem),
  });
  onTestFinished(() => followed.close());
  await rm(file);
  await expect.poll(() => heard).toEqual([expect.stringContaining('there is no such file')]);
  await writeFile(file, 'mcpServers: { a: { command: x } }\n');
  await expect.poll(() => heard.at(-1)).toBe('a');
});
