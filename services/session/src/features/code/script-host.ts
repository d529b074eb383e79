/** Starts the thread of one script, and ends it, whatever the script does. */
import { Worker } from 'node:worker_threads';
import type { SettledCall } from '../../call/inner-stream.ts';
import type { FromScript, Script, ScriptEnd } from './script-messages.ts';

export interface ScriptListener {
  begun(): void;
  called(call: Extract<FromScript, { kind: 'call' }>): void;
  /** Called once at most, unless the script was ended before. */
  ended(end: ScriptEnd): void;
}

/** Milliseconds for the start of a thread, beyond a script's computing time, before the thread is ended from outside. */
const startMs = 10_000;
/** The same once the script runs: one step of the engine, such as a search in a long text, cannot be interrupted from inside. */
const stepMs = 2_000;
/** Megabytes of the thread itself, without the memory of the script, which the engine bounds. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 16 };
/** In the package, the thread is a file beside this one's chunk, with the same name. */
const file = new URL(import.meta.url.endsWith('.ts') ? './script-thread.ts' : './script-thread.js', import.meta.url);

export class ScriptHost {
  readonly #script: Script;
  readonly #listener: ScriptListener;
  readonly #thread: Worker;
  #watchdog: NodeJS.Timeout | undefined;
  #isOver = false;
  /** Outcomes that the script gets at the end of this turn. */
  #settled: SettledCall[] = [];

  constructor(script: Script, listener: ScriptListener) {
    this.#script = script;
    this.#listener = listener;
    this.#thread = new Worker(file, {
      workerData: script,
      env: {},
      execArgv: ['--no-warnings'],
      stdout: true,
      stderr: true,
      resourceLimits,
    });
    this.#thread.unref();
    this.#thread.on('message', (messages: readonly FromScript[]) => {
      for (const message of messages) this.#hear(message);
    });
    this.#thread.on('error', (error: Error) =>
      this.#end(failed(`the script needs too much memory (${error.message})`)),
    );
    this.#thread.on('exit', () => this.#end(failed('the thread of the script has ended')));
    this.#watch(startMs);
  }

  /** Gives the script outcomes of its calls, those of one turn of the event loop together. */
  settle(settled: readonly SettledCall[]): void {
    if (this.#isOver) return;
    if (this.#settled.length === 0) setImmediate(() => this.#give());
    this.#settled.push(...settled);
  }

  #give(): void {
    const settled = this.#settled;
    this.#settled = [];
    if (this.#isOver) return;
    this.#watch(stepMs);
    this.#thread.postMessage({ settled });
  }

  /** Ends the script; nothing is heard of it any more. */
  kill(): void {
    this.#isOver = true;
    clearTimeout(this.#watchdog);
    void this.#thread.terminate();
  }

  #hear(message: FromScript): void {
    if (this.#isOver) return;
    if (message.kind === 'call') this.#listener.called(message);
    else if (message.kind === 'begun') {
      this.#watch(stepMs);
      this.#listener.begun();
    } else if (message.kind === 'idle') clearTimeout(this.#watchdog);
    else this.#end(message);
  }

  /** The script computes: the engine ends it in time, and this does if the engine does not. */
  #watch(graceMs: number): void {
    clearTimeout(this.#watchdog);
    const { cpuMs } = this.#script.limits;
    this.#watchdog = setTimeout(
      () => this.#end(failed(`the script computed for longer than ${cpuMs} ms (code.cpu)`)),
      cpuMs + graceMs,
    ).unref();
  }

  #end(end: ScriptEnd): void {
    if (this.#isOver) return;
    this.kill();
    this.#listener.ended(end);
  }
}

function failed(text: string): ScriptEnd {
  return { isOk: false, text, printed: '' };
}
