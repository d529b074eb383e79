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
