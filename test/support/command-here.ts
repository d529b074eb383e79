/**
 * Commands in the test's own process. A start of the program costs a fifth of a second of processor time, most of it for loading what is loaded here once. It is the
 * same program: its main module runs again for each command, and what it sees of the process (arguments, variables, streams, exit status) is that of the
 * command. Commands run beside each other, except one in a folder of its own, which runs alone, since a process has one folder. For commands that are
 * stopped, that end when their reader does, or that keep the process running, there is `inPipe`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { enableCompileCache, syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { omnibusProgram } from './processes.ts';
import type { Ran, RunOptions } from './terminal.ts';

/** What a command sees of its process. */
interface Seen {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly exit: (status?: number) => void;
  exitCode: number | undefined;
}

const running = new AsyncLocalStorage<Seen>();

/** Thrown where a command ends its process, since no statement after that may run. */
class Ended extends Error {}

/** Node loads the program, and not the test runner, which would transform each file. */
const importer: string = 'data:text/javascript,export const nativeImport = (url) => import(url);';

let isPrepared = false;

/** From now on, commands see what is theirs, and everything else in this process what it saw before. */
function prepare(): void {
  if (isPrepared) return;
  isPrepared = true;
  enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  // Some commands overwrite the memory that holds the environment since the start of the process: it is copied to other memory.
  for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
  for (const name of ['argv', 'env', 'stdin', 'stdout', 'stderr', 'exit'] as const) {
    const before = Object.getOwnPropertyDescriptor(process, name) ?? {};
    let value: unknown = before.value;
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable: true,
      get: () =>
        running.getStore()?.[name] ?? (before.get === undefined ? value : (before.get.call(process) as unknown)),
      set(wanted: unknown) {
        const seen = running.getStore();
        if (seen === undefined) value = wanted;
        else Object.assign(seen, { [name]: wanted });
      },
    });
  }
  // Node asks the system, which knows no variables of commands.
  const { homedir } = os;
  os.homedir = () => running.getStore()?.env['HOME'] ?? homedir();
  syncBuiltinESMExports();
  // A process finds no connection of the command before it, which the server may be about to close.
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => {
    if (running.getStore() === undefined) return fetch(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    headers.set('connection', 'close');
    return fetch(input, { ...init, headers });
  };
  // Node does not let this member be defined again.
  globalThis.process = new Proxy(process, {
    get(all, name) {
      const seen = running.getStore();
      return seen === undefined || name !== 'exitCode' ? (Reflect.get(all, name) as unknown) : seen.exitCode;
    },
    set(all, name, value) {
      const seen = running.getStore();
      if (seen === undefined || name !== 'exitCode') return Reflect.set(all, name, value);
      seen.exitCode = value as number;
      return true;
    },
  });
}

/** Keeps what is written. @param both keeps what is written to two streams, in its order. */
function kept(both: Buffer[]): { readonly stream: Writable; readonly text: () => string } {
  const parts: Buffer[] = [];
  const stream = new Writable({
    write(part: Buffer, _encoding, done) {
      parts.push(part);
      both.push(part);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(parts).toString() };
}

interface Said {
  readonly status: number;
  /** What it has written to stdout and stderr, in this order, without the last line break. */
  readonly output: string;
}

let count = 0;

/**
 * Runs a command in this process.
 * @param args the words after `omnibus`.
 */
export async function inHere(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return (await run(args, options)).ran;
}

/** As `inHere`, with the output as on a terminal. */
export async function saidHere(args: readonly string[], options: RunOptions = {}): Promise<Said> {
  const { status, output } = await run(args, options);
  return { status, output };
}

type Outcome = Said & { readonly ran: Ran };

/** The end of the last command in a folder of its own. */
let alone: Promise<unknown> = Promise.resolve();
/** The commands since then, which run beside each other. */
let together: Promise<unknown>[] = [];

function run(args: readonly string[], { cwd, ...options }: RunOptions): Promise<Outcome> {
  if (cwd === undefined) {
    const outcome = alone.then(() => runHere(args, options));
    together.push(outcome);
    return outcome;
  }
  const outcome = Promise.allSettled([alone, ...together]).then(() => runIn(cwd, args, options));
  [alone, together] = [outcome.catch(() => undefined), []];
  return outcome;
}

async function runIn(cwd: string, args: readonly string[], options: RunOptions): Promise<Outcome> {
  const folder = process.cwd();
  process.chdir(cwd);
  try {
    return await runHere(args, options);
  } finally {
    process.chdir(folder);
  }
}

async function runHere(args: readonly string[], { env = {}, stdin = '' }: RunOptions): Promise<Outcome> {
  prepare();
  count += 1;
  const both: Buffer[] = [];
  const [out, err] = [kept(both), kept(both)];
  const ended = Promise.withResolvers<number>();
  let isOver = false;
  const end = (status: number): void => {
    isOver = true;
    ended.resolve(status);
  };
  const seen: Seen = {
    argv: [process.execPath, omnibusProgram, ...args],
    env: { ...process.env, ...env },
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
    stdout: out.stream,
    stderr: err.stream,
    exit(status) {
      // A command that has ended may have a timer that ends its process.
      if (isOver) return;
      end(status ?? seen.exitCode ?? 0);
      throw new Ended();
    },
    exitCode: undefined,
  };
  const main = `${pathToFileURL(join(dirname(omnibusProgram), '../dist/main.js')).href}?command=${count}`;
  await running.run(seen, async () => {
    const { nativeImport } = (await import(importer)) as { nativeImport: (url: string) => Promise<unknown> };
    await nativeImport(main).then(
      () => end(seen.exitCode ?? 0),
      (error: unknown) => (error instanceof Ended ? undefined : ended.reject(error)),
    );
  });
  const status = await ended.promise;
  return {
    ran: { status, stdout: out.text(), stderr: err.text() },
    status,
    output: Buffer.concat(both).toString().trimEnd(),
  };
}
