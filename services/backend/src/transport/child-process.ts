/**
 * A server that the gateway starts. It runs in a process group of its own and has a mark in its environment, so that the processes it starts can be ended
 * with it. It is shut down as the specification demands (lifecycle, Shutdown, stdio): close its stdin, wait, SIGTERM, wait, SIGKILL.
 *
 * Starting may fail in every way the system knows (no such program, no more files, no more processes); then `ended` resolves with a reason, and nothing is
 * thrown. The stderr output of a program goes to the operator's log only.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { plainVariables } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { endMarked, markVariable } from './leftovers.ts';
import { guardProgram, releaseProgram } from './reaper.ts';
import type { Diary } from './diary.ts';
import type { Redactor } from './redactor.ts';
import { accountOf, type Account } from './account.ts';
import { sandboxed, type Sandbox } from './sandbox.ts';
import { Troubled } from './trouble.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** User that the program runs as: a name, UID or UID:GID; undefined for the gateway's own user. */
  readonly user: string | undefined;
  /** The parts of this machine that it may use; undefined for everything that its user may use. */
  readonly sandbox?: Sandbox | undefined;
  readonly redactor: Redactor;
  /** Keeps the latest lines of stderr; without it they are not kept. */
  readonly diary?: Diary | undefined;
  readonly log: Logger;
}

const graceMs = 2_000;
/** For its last output after its end, or for its end after it closed a pipe. */
const lastWordsMs = 500;
const stderrTailLength = 2_000;
/** Variables that a program needs to run at all. It gets no others from our environment, which has secrets. */
const inheritedVariables = [
  ...plainVariables,
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
];

export class Child {
  /** Resolves when the program runs; rejects with the reason why it cannot. */
  readonly started: Promise<void>;
  /** Resolves with the reason why the program ended, or can no longer be talked with (`talks`), in words that may reach clients: none of them are its own. */
  readonly ended: Promise<string>;
  /** Resolves when neither the program nor what it has started runs any more. */
  readonly gone: Promise<void>;
  readonly #options: ChildOptions;
  readonly #process: ChildProcess | undefined;
  /** The mark, which is in the environment of every process that the program starts, unless one clears its environment on purpose. */
  readonly #mark = randomUUID();
  #stderrTail = '';
  #hasEnded = false;
  /** Signal or exit code of the program; undefined while it runs. */
  #how: string | undefined;
  #isStopping = false;
  /** Whether it closed a pipe and runs on. */
  #hasLeft = false;
  #end: (problem: string) => void = () => undefined;
  readonly #isGone: () => void;
  readonly #start: { readonly resolve: () => void; readonly reject: (error: Error) => void };

  constructor(options: ChildOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    ({ promise: this.gone, resolve: this.#isGone } = Promise.withResolvers<void>());
    const start = Promise.withResolvers<void>();
    this.#start = start;
    this.started = start.promise;
    // A caller that does not wait for the start learns of a failure from `ended`.
    this.started.catch(() => undefined);
    this.#process = this.#spawn();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** @param listener is called with every piece of stdout. */
  onOutput(listener: (chunk: Buffer) => void): void {
    this.#process?.stdout?.on('data', listener);
  }

  /** Messages go both ways over its pipes: if it closes one and runs on, it counts as ended. */
  talks(): void {
    const { stdin, stdout } = this.#process ?? {};
    // Only what is written to a closed pipe shows that it is closed.
    stdin?.once('close', () => this.#closed('input (stdin)'));
    stdout?.once('close', () => this.#closed('output (stdout)'));
  }

  /**
   * Writes to stdin.
   * @param maxWaitingBytes bound on bytes that the program has not read yet.
   * @returns the reason, in words, why the text could not be written.
   */
  write(text: string, maxWaitingBytes: number): string | undefined {
    if (this.#how !== undefined) return `the program ended with ${this.#how}`;
    const stdin = this.#process?.stdin;
    if (stdin === null || stdin === undefined || this.#hasEnded || !stdin.writable)
      return 'the program takes no input any more';
    if (stdin.writableLength > maxWaitingBytes) return 'the program does not read its input';
    stdin.write(text);
    return undefined;
  }

  async stop(): Promise<void> {
    const stdin = this.#process?.stdin;
    // After an earlier stop, it is closed too.
    const hasClosed = !this.#isStopping && stdin?.closed === true;
    this.#isStopping = true;
    if (!this.#hasEnded) {
      if (hasClosed) this.#signalGroup('SIGTERM');
      else stdin?.end();
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        if (await this.#endsWithin(graceMs)) break;
        this.#signalGroup(signal);
      }
    }
    await this.gone;
  }

  #closed(pipe: string): void {
    // A program that ends closes its pipes first. It has this time to end.
    setTimeout(() => {
      if (this.#hasEnded || this.#isStopping || this.#hasLeft) return;
      const problem = `the program runs on, but has closed its ${pipe}`;
      this.#hasLeft = true;
      this.#logLastWords(problem, 'the program closed a pipe and runs on');
      this.#end(problem);
    }, lastWordsMs).unref();
  }

  #spawn(): ChildProcess | undefined {
    const { env, cwd, user, sandbox, log } = this.#options;
    let child: ChildProcess;
    try {
      const account = user === undefined ? undefined : accountOf(user);
      const variables = { ...inherited(account), ...env };
      const { command, args } =
        sandbox === undefined ? this.#options : sandboxed(this.#options, sandbox, variables['PATH'] ?? '', cwd);
      child = spawn(command, args, {
        cwd,
        env: { ...variables, [markVariable]: this.#mark },
        stdio: 'pipe',
        detached: true,
        ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
      });
    } catch (error) {
      this.#neverStarted(error as NodeJS.ErrnoException);
      return undefined;
    }
    const { pid, stdin, stdout, stderr } = child;
    // There may be several errors: a signal that cannot be sent is an error of the process too.
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) this.#neverStarted(error);
      else log.debug({ err: error }, 'an error of the program');
    });
    // If no more files can be opened, there are no pipes either.
    for (const stream of [stdin, stdout, stderr] as readonly (NodeJS.EventEmitter | null | undefined)[])
      stream?.on('error', (error: Error) => log.debug({ err: error }, 'a pipe to the program broke'));
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = (this.#stderrTail + text).slice(-stderrTailLength);
      this.#options.diary?.write(text, (line) => this.#options.redactor.excerpt(line));
      if (log.isLevelEnabled('debug'))
        log.debug({ stderr: this.#options.redactor.excerpt(text, stderrTailLength) }, 'server wrote to stderr');
    });
    child.once('spawn', () => this.#start.resolve());
    if (pid !== undefined) {
      guardProgram(pid, this.#mark);
      child.once('exit', (code, signal) => void this.#exited(child, signal ?? `exit code ${code}`));
    }
    return child;
  }

  #neverStarted(error: NodeJS.ErrnoException): void {
    this.#hasEnded = true;
    const problem = `cannot start ${JSON.stringify(this.#options.command)}: ${startProblem(error)}`;
    this.#start.reject(new Troubled('program', problem));
    this.#end(problem);
    this.#isGone();
  }

  async #exited(child: ChildProcess, how: string): Promise<void> {
    this.#hasEnded = true;
    this.#how = how;
    this.#signalGroup('SIGKILL');
    await endMarked(this.#mark);
    if (child.pid !== undefined) releaseProgram(child.pid, this.#mark);
    // The pipe may still have its last output, and processes that it left running may hold the pipe open.
    const tell = (): void => {
      clearTimeout(limit);
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (!this.#hasLeft) this.#logLastWords(how, 'the program ended');
      // Bubblewrap reports this on stderr, where a program in it could write the same; the text itself is for the log only.
      this.#end(
        this.#options.sandbox !== undefined && /^bwrap: /m.test(this.#stderrTail)
          ? 'the sandbox of the program could not be made; the log of the gateway says why'
          : `the program ended with ${how}`,
      );
      this.#isGone();
    };
    const limit = setTimeout(tell, lastWordsMs);
    if (child.stdout?.closed === true && child.stderr?.closed === true) tell();
    else child.once('close', tell);
  }

  #logLastWords(how: string, event: string): void {
    const lastWords = this.#options.redactor.excerpt(
      this.#stderrTail.trim().split('\n').slice(-3).join(' | '),
      stderrTailLength,
    );
    if (!this.#isStopping && lastWords !== '')
      this.#options.log.warn({ how, lastWords }, `${event}; these were its last words on stderr`);
  }

  async #endsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    const exit = new Promise<void>((resolve) => {
      this.#process?.once('exit', () => resolve());
    });
    await Promise.race([exit, this.gone, limit]);
    clearTimeout(timer);
    return this.#hasEnded;
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#process?.pid === undefined) return;
    try {
      process.kill(-this.#process.pid, signal);
    } catch {
      // The whole group has ended already.
    }
  }
}

function inherited(account: Account | undefined): Record<string, string> {
  const own = Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return account === undefined ? own : { ...own, HOME: account.home, USER: account.name, LOGNAME: account.name };
}

/** The system's reason for a failed start, and what to do about it. */
function startProblem({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ENOENT':
      return 'there is no such program on the PATH, or the folder it should start in (`cwd`) is missing';
    case 'EACCES':
      return 'it may not be executed, or the folder it should start in (`cwd`) may not be entered';
    case 'EMFILE':
    case 'ENFILE':
      return `no more files can be opened (${code}); let the gateway have more (ulimit -n)`;
    case 'EAGAIN':
      return 'no more processes can be started (EAGAIN); let the gateway have more (ulimit -u, or the pids limit of its container)';
    case 'EPERM':
      return 'the gateway may not start it as that user (`user`); only root may';
    default:
      return message;
  }
}
