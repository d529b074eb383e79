/** One script in QuickJS, in WebAssembly: no network, files, timers or modules, and bounds on memory, stack and computing. */
import { stripTypeScriptTypes } from 'node:module';
import singleFile from '@jitl/quickjs-singlefile-mjs-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core';
import { prelude } from './prelude.ts';
import { syntaxProblem, thrownProblem } from './problems.ts';
import type { SettledCall } from '../../call/inner-stream.ts';
import type { FromScript, Script } from './script-messages.ts';

/** Bytes of the engine's stack. The thread's own stack is much larger, since a frame of it takes more (`script-thread.ts`). */
const stackBytes = 256 * 1024;
/** Jobs between two looks at the clock. */
const jobsAtOnce = 500;
const before = '(async () => { "use strict";\n';
const after = '\n})()';

export class Sandbox {
  readonly #script: Script;
  readonly #post: (messages: readonly FromScript[]) => void;
  /** Messages of this turn of the engine. They leave together, since each costs both threads as much as its contents. */
  #out: FromScript[] = [];
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  #settle: QuickJSHandle | undefined;
  #calls = 0;
  /** Characters of the arguments of calls that are open, by their numbers. */
  readonly #open = new Map<number, number>();
  #openLength = 0;
  #printed = '';
  #spentMs = 0;
  #since = 0;
  #isOver = false;

  private constructor(script: Script, runtime: QuickJSRuntime, post: (messages: readonly FromScript[]) => void) {
    this.#script = script;
    this.#post = post;
    this.#runtime = runtime;
    runtime.setMemoryLimit(script.limits.memoryBytes);
    runtime.setMaxStackSize(stackBytes);
    runtime.setInterruptHandler(() => this.#isLate);
    this.#context = runtime.newContext();
  }

  /** Runs a script until it waits for its first calls, or ends. */
  static async run(script: Script, post: (messages: readonly FromScript[]) => void): Promise<Sandbox> {
    const engine = await newQuickJSWASMModuleFromVariant(singleFile);
    const sandbox = new Sandbox(script, engine.newRuntime(), post);
    post([{ kind: 'begun' }]);
    sandbox.#during(() => sandbox.#begin());
    return sandbox;
  }

  /** Gives the script the outcomes of calls, and continues it. */
  settle(settled: readonly SettledCall[]): void {
    this.#during(() => {
      for (const { id, isOk, text } of settled) {
        this.#openLength -= this.#open.get(id) ?? 0;
        this.#open.delete(id);
        this.#give(id, isOk, text);
      }
    });
  }

  get #isLate(): boolean {
    return this.#spentMs + performance.now() - this.#since > this.#script.limits.cpuMs;
  }

  /** Works in the engine, and then tells the host whether the script waits. */
  #during(act: () => void): void {
    if (this.#isOver) return;
    this.#since = performance.now();
    try {
      act();
      this.#drain();
    } catch (error) {
      // The engine itself failed, such as by the depth of a recursion in it. It cannot be used any more.
      this.#end(
        false,
        `the script needs too much stack or memory (${error instanceof Error ? error.message : String(error)})`,
      );
    }
    this.#spentMs += performance.now() - this.#since;
    if (!this.#isOver) {
      if (this.#open.size === 0) this.#end(false, 'the script waits for a promise that is never settled');
      else this.#out.push({ kind: 'idle' });
    }
    this.#flush();
  }

  #flush(): void {
    if (this.#out.length === 0) return;
    this.#post(this.#out);
    this.#out = [];
  }

  #begin(): void {
    const { code, now, seed } = this.#script;
    let plain: string;
    try {
      plain = stripTypeScriptTypes(before + code + after, { sourceUrl: 'script.ts' });
    } catch (error) {
      this.#end(false, syntaxProblem(error));
      return;
    }
    const context = this.#context;
    const host = this.#evaluated(prelude, 'prelude');
    if (host === undefined) return;
    const made = context.callFunction(host, context.undefined, [
      context.newFunction('call', (server, tool, args) => this.#call(server, tool, args)),
      context.newFunction('print', (line) => this.#print(this.#jsonOf(line))),
      context.newFunction('finish', (isOk, text) => this.#finish(context.dump(isOk) === true, this.#jsonOf(text))),
      context.newFunction('names', () => context.newString(this.#script.names)),
      context.newNumber(now),
      context.newNumber(seed),
    ]);
    if (made.error !== undefined) throw new Error(JSON.stringify(context.dump(made.error)));
    const parts = made.value;
    this.#settle = context.getProp(parts, 'settle');
    const promise = this.#evaluated(plain, 'script.ts');
    if (promise !== undefined) context.callFunction(context.getProp(parts, 'watch'), context.undefined, [promise]);
  }

  #evaluated(text: string, name: string): QuickJSHandle | undefined {
    const result = this.#context.evalCode(text, name);
    if (result.error === undefined) return result.value;
    this.#thrown(result.error);
    return undefined;
  }

  #thrown(error: QuickJSHandle): void {
    const dumped: unknown = this.#context.dump(error);
    error.dispose();
    this.#end(false, this.#isLate ? this.#late : thrownProblem(JSON.stringify(dumped), this.#script.code));
  }

  get #late(): string {
    return `the script computed for longer than ${this.#script.limits.cpuMs} ms (code.cpu)`;
  }

  #drain(): void {
    while (!this.#isOver && this.#runtime.hasPendingJob()) {
      const done = this.#runtime.executePendingJobs(jobsAtOnce);
      done.error?.dispose();
      // Calls do not wait for jobs that go on and on.
      if (this.#runtime.hasPendingJob()) this.#flush();
      if (this.#isLate) this.#end(false, this.#late);
    }
    if (this.#isLate && !this.#isOver) this.#end(false, this.#late);
  }

  #textOf(handle: QuickJSHandle | undefined): string {
    return handle === undefined ? '' : this.#context.getString(handle);
  }

  /** The text that a function of the first code has given as JSON. */
  #jsonOf(handle: QuickJSHandle | undefined): string {
    return JSON.parse(this.#textOf(handle)) as string;
  }

  /** @returns the number of the call, or why it is refused. */
  #call(server: QuickJSHandle, tool: QuickJSHandle, args: QuickJSHandle): QuickJSHandle {
    const { calls, argumentLength, openLength } = this.#script.limits;
    const refuse = (problem: string): QuickJSHandle => this.#context.newString(problem);
    if (this.#calls >= calls) return refuse(`a script may make ${calls} calls (code.calls)`);
    const text = this.#textOf(args);
    if (text.length > argumentLength)
      return refuse(`the arguments have ${text.length} characters; ${argumentLength} are allowed`);
    if (this.#openLength + text.length > openLength)
      return refuse(
        `the arguments of calls that are open have ${this.#openLength} characters; ${openLength} are allowed: wait for some of them`,
      );
    this.#calls += 1;
    this.#open.set(this.#calls, text.length);
    this.#openLength += text.length;
    this.#out.push({
      kind: 'call',
      id: this.#calls,
      server: this.#textOf(server),
      tool: this.#textOf(tool),
      args: text,
    });
    return this.#context.newNumber(this.#calls);
  }

  #print(line: string): void {
    const room = this.#script.limits.outputLength - this.#printed.length;
    if (room > 0)
      this.#printed +=
        line.length < room ? `${line}\n` : `${line.slice(0, room)}\n… (console.log: the rest is left out)\n`;
  }

  #give(id: number, isOk: boolean, text: string): void {
    const context = this.#context;
    const { memoryBytes } = this.#script.limits;
    const fits = text.length < memoryBytes / 4;
    const args = [
      context.newNumber(id),
      fits && isOk ? context.true : context.false,
      context.newString(
        fits
          ? text
          : JSON.stringify({
              message: `the result has ${text.length} characters, which do not fit into the memory of the script (code.memory)`,
              reason: 'result.too_large',
            }),
      ),
    ];
    const done = context.callFunction(this.#settle as QuickJSHandle, context.undefined, args);
    for (const arg of args) arg.dispose();
    if (done.error === undefined) done.value.dispose();
    else this.#thrown(done.error);
  }

  #finish(isOk: boolean, text: string): void {
    this.#end(isOk, isOk ? text : thrownProblem(text, this.#script.code));
  }

  #end(isOk: boolean, text: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { outputLength } = this.#script.limits;
    const left = text.length - outputLength;
    this.#out.push({
      kind: 'end',
      isOk,
      text:
        left > 0
          ? `${text.slice(0, outputLength)}\n… (${left} more characters are left out: return less, such as the fields that you need)`
          : text,
      printed: this.#printed,
    });
  }
}
