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

/** A program that says its number and ends at SIGTERM with 7, and the wrapper of `npm start` around it. */
const wrapped = (): string => {
  const program = `process.on('SIGTERM', () => process.exit(7)); setInterval(() => undefined, 1_000); console.log('runs ' + process.pid);`;
  return `import { runInteractive } from ${JSON.stringify(join(root, 'scripts/interactive.mjs'))};
    process.exitCode = await runInteractive(process.execPath, ['-e', ${JSON.stringify(program)}], { env: process.env });`;
};

it('SIGTERM at the wrapper of `npm start` ends the program, and the wrapper with its exit code', async () => {
  const wrapper = spawn(process.execPath, ['--input-type=module', '-e', wrapped()], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  wrapper.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said.endsWith('\n')) wrapper.kill('SIGTERM');
  });
  const [code] = await once(wrapper, 'exit');
  expect(code).toBe(7);
  expect(() => process.kill(Number(said.split(' ')[1]), 0)).toThrow('ESRCH');
});

it('a program that cannot run ends with 1, says so, and leaves no handler of signals behind', async () => {
  const script = `import { runInteractive } from ${JSON.stringify(join(root, 'scripts/interactive.mjs'))};
    const ended = await runInteractive('no-such-program', [], {});
    console.log(ended, await runInteractive(process.execPath, ['-e', ''], {}), process.listenerCount('SIGTERM'));`;
  const wrapper = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    wrapper[stream].on('data', (chunk: Buffer) => void (said[stream] += chunk.toString()));
  await once(wrapper, 'close');
  expect(said).toEqual({
    stdout: '1 0 0\n',
    stderr: 'omnibus: cannot run no-such-program: spawn no-such-program ENOENT\n',
  });
});

it('the wrapper of `npm start` ends the program when npm and its shell have ended', async () => {
  const shell = spawn('sh', ['-c', '"$NODE" --input-type=module -e "$SCRIPT"; true'], {
    env: { ...process.env, NODE: process.execPath, SCRIPT: wrapped(), npm_lifecycle_event: 'start' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  shell.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said.endsWith('\n')) shell.kill('SIGTERM');
  });
  // The program holds the pipe until it ends.
  await once(shell.stdout, 'close');
  expect(() => process.kill(Number(said.split(' ')[1]), 0)).toThrow('ESRCH');
});
