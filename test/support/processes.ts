/** Child processes of tests: started, read line by line, ended by pid. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. Tests run from `test/`, the benchmark from `test/dist/`. */
export const root = fileURLToPath(
  new URL(import.meta.url.includes('/dist/') ? '../../../' : '../../', import.meta.url),
);

/** The tested gateway: the bundle that `npm test` has made, or for a single test the program that was built here. */
export const omnibusProgram = process.env['OMNIBUS_PROGRAM'] ?? join(root, 'services/gateway/bin/omnibus.js');

/** The sealing key that session workers over NATS share. */
export const sealing = { OMNIBUS_SEALING_KEY: randomBytes(32).toString('base64') };

/** What prints lines. */
export interface Printing {
  /** The output so far, stdout and stderr together. */
  readonly output: () => string;
  /** Resolves with the match of the first line, past or future, that fits. Rejects when the output ends without one. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface RunningProcess extends Printing {
  readonly child: ChildProcess;
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Ends it in an orderly way, and by force when that takes too long. Rejects when it has logged an unhandled error, whatever the test is about. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The log line of a process of the gateway for an unhandled error. */
const uncaught = '"msg":"an error was caught nowhere else"';
/** In the message of an error that a test has caused. */
export const onPurpose = 'by a test, on purpose';

/** Lines that tests wait for. */
export class Lines implements Printing {
  readonly #lines: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #name: string;

  /** @param name says in errors what has printed. */
  constructor(name: string) {
    this.#name = name;
  }

  add(line: string): void {
    this.#lines.push(line);
    for (const listener of this.#listeners) listener(line);
  }

  /** No line follows. */
  end(): void {
    this.#ended.resolve();
  }

  output(): string {
    return this.#lines.join('\n');
  }

  line(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const listener = (line: string): void => {
        const match = pattern.exec(line);
        if (match === null) return;
        this.#listeners.delete(listener);
        resolve(match);
      };
      this.#listeners.add(listener);
      for (const line of this.#lines) listener(line);
      void this.#ended.promise.then(() =>
        reject(new Error(`${this.#name} ended before it printed ${String(pattern)}:\n${this.output()}`)),
      );
    });
  }

  /** @throws {Error} when a line is about an unhandled error that no test has caused. */
  failOnUncaught(): void {
    const fault = this.#lines.find((line) => line.includes(uncaught) && !line.includes(onPurpose));
    if (fault !== undefined) throw new Error(`${this.#name} has logged: ${fault}`);
  }
}

const stopLimitMs = 20_000;

/** File for the reporter of `npm test -- --where`; undefined unless that is wanted. */
const starts = process.env['OMNIBUS_WHERE'];

export function startProcess(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): RunningProcess {
  const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, stdio: [stdin, 'pipe', 'pipe'] });
  const lines = new Lines(`${command} ${args.join(' ')}`);
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.add(line));
  const ended = once(child, 'exit');
  void ended.then(() => lines.end());
  let startedAt: number | undefined = performance.now();
  const isUp = (): void => {
    if (starts !== undefined && startedAt !== undefined)
      appendFileSync(starts, `${Math.round(performance.now() - startedAt)}\n`);
    startedAt = undefined;
  };
  return {
    child,
    pid: child.pid as number,
    output: () => lines.output(),
    async line(pattern) {
      const match = await lines.line(pattern);
      isUp();
      return match;
    },
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        const force = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
        child.kill('SIGTERM');
        await ended;
        clearTimeout(force);
      }
      lines.failOnUncaught();
    },
  };
}

/** Resolves when the process has ended. */
export async function end(process: RunningProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(process.child, 'exit');
  process.kill(signal);
  await ended;
}

/** A program of this package, as built. */
export function startFixture(name: string, args: readonly string[] = []): RunningProcess {
  return startProcess('node', [fixturePath(name), ...args]);
}

/** Where `npm test` has bundled servers of `fixtures/`. */
const bundledFixtures = process.env['OMNIBUS_FIXTURES'];

/** Where a program of `fixtures/` is: among the bundled ones, or after the build. */
export function fixturePath(name: string): string {
  const bundled = bundledFixtures === undefined ? undefined : join(bundledFixtures, `${name}.js`);
  return bundled !== undefined && existsSync(bundled) ? bundled : join(root, 'test', 'dist', 'fixtures', `${name}.js`);
}
