import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';

it('a signal that ends npm and its shell ends the program that they have started', async () => {
  const module = join(root, 'scripts/orphaned.mjs');
  // The second command keeps the shell in between, as with npm.
  const script = `import { whenOrphaned } from ${JSON.stringify(module)};
    whenOrphaned(() => { console.log('ends'); process.exit(); });
    setInterval(() => undefined, 1_000);
    console.log('runs');`;
  const shell = spawn('sh', ['-c', '"$NODE" --input-type=module -e "$SCRIPT"; true'], {
    env: { ...process.env, NODE: process.execPath, SCRIPT: script },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  shell.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said === 'runs\n') shell.kill('SIGTERM');
  });
  await once(shell.stdout, 'close');
  expect(said).toBe('runs\nends\n');
});
