/**
 * A server we start. It runs in a process group of its own, so that what it starts goes with it.
 * Shutdown as the specification has it (lifecycle, Shutdown, stdio): close its stdin, wait, SIGTERM, wait, SIGKILL.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import type { Logger } from '@omnibus/telemetry';
import { guardGroup, releaseGroup } from './reaper.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly log: Logger;
}

const graceMs = 2_000;
const lastWordsMs = 500;
const stderrTailLength = 2_000;
/** What a program needs to run at all. Everything else in our environment, secrets included, stays ours. */
const inheritedVariables = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

export class Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** Resolves with why the child ended, in words. */
  readonly ended: Promise<string>;
  #stderrTail = '';
  #hasEnded = false;

  constructor({ command, args, env, cwd, log }: ChildOptions) {
    const inherited = Object.fromEntries(inheritedVariables.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }));
    this.process = spawn(command, args, { cwd, env: { ...inherited, ...env }, stdio: 'pipe', detached: true });
    const { pid } = this.process;
    if (pid !== undefined) guardGroup(pid);
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = (this.#stderrTail + text).slice(-stderrTailLength);
      log.debug({ stderr: text.trimEnd() }, 'server wrote to stderr');
    });
    this.process.stdin.on('error', (error) => log.debug({ err: error }, 'writing to the server failed'));
    this.ended = new Promise((resolve) => {
      this.process.once('error', (error) => {
        this.#hasEnded = true;
        const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        resolve(missing ? `cannot start ${JSON.stringify(command)}: there is no such program on the PATH, or the folder ${cwd} is missing` : `cannot start ${JSON.stringify(command)}: ${error.message}`);
      });
      this.process.once('exit', (code, signal) => {
        this.#hasEnded = true;
        this.#signalGroup('SIGKILL');
        if (pid !== undefined) releaseGroup(pid);
        // Its last words may still be in the pipe; what it left running may hold the pipe open.
        const tell = (): void => {
          const last = this.#stderrTail.trim().split('\n').slice(-3).join(' | ');
          resolve(`the process ended with ${signal ?? `exit code ${code}`}${last === '' ? '' : `; its last words: ${last}`}`);
        };
        this.process.once('close', tell);
        setTimeout(tell, lastWordsMs).unref();
      });
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    this.process.stdin.end();
    if (await this.#endsWithin(graceMs)) return;
    this.#signalGroup('SIGTERM');
    if (await this.#endsWithin(graceMs)) return;
    this.#signalGroup('SIGKILL');
    await this.ended;
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), ms);
    try {
      await once(this.process, 'exit', { signal: timeout.signal });
      return true;
    } catch {
      return this.#hasEnded;
    } finally {
      clearTimeout(timer);
    }
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.process.pid === undefined) return;
    try {
      process.kill(-this.process.pid, signal);
    } catch {
      // The whole group is gone already.
    }
  }
}
