import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

/** A process that logs so many lines on a signal to stop, and then ends as the gateway does. */
function start(format: 'json' | 'pretty', lines: number): ChildProcess {
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('logger.ts', import.meta.url).href)};
    const log = createLogger({ level: 'info', format: '${format}' });
    process.on('SIGTERM', () => {
      for (let line = 1; line <= ${lines}; line += 1) log.info({ line }, 'stopping '.repeat(20));
      process.exit(0);
    });
    setInterval(() => undefined, 60_000);
    process.stdout.write('ready\\n');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  return child;
}

const limit = { timeout: 45_000 };

it.each(['json', 'pretty'] as const)(
  'a process without a reader of its log still stops on a signal: %s',
  limit,
  async (format) => {
    const child = start(format, 3);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.stderr?.destroy();
    await once(child.stderr as NodeJS.ReadableStream, 'close');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
);

it.each(['json', 'pretty'] as const)(
  'a process whose log is held open and not read ends when it is told to: %s',
  limit,
  async (format) => {
    const child = start(format, 10_000);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.stderr?.pause();
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
);

it.each(['json', 'pretty'] as const)(
  'what is logged right before a process ends is in its log, in order: %s',
  limit,
  async (format) => {
    const child = start(format, 2_000);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    const heard: string[] = [];
    const read = createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) =>
      heard.push(line),
    );
    const closed = once(read, 'close');
    child.kill('SIGTERM');
    await closed;
    const numbers = heard.join('\n').matchAll(/"?line"?: ?(\d+)/g);
    expect([...numbers].map(([, line]) => Number(line))).toEqual(
      Array.from({ length: 2_000 }, (_, index) => index + 1),
    );
  },
);
