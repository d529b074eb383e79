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
/** Characters of outcomes that the engine gets together. */
const outcomesLength = 65_536;
const before = '(async () => { "use strict";\n';
const after = '\n})()';

export class Sandbox {
  readonly #script: Script;
  readonly #post: (messages: readonly FromScript[]) => void;
  /** Messages of this turn of the engine. They leave together, since each costs both threads as much as its contents. */
  #out: FromScript[] = [];
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  /** Functions of the first code. */
  #given: { readonly settle: QuickJSHandle; readonly flush: QuickJSHandle } | undefined;
  /** Calls of the script, the refused ones too: the number of the last one. */
  #made = 0;
  #calls = 0;
  /** Calls that this host refuses. */
  #refused: SettledCall[] = [];
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
      for (const { id } of settled) {
        this.#openLength -= this.#open.get(id) ?? 0;
        this.#open.delete(id);
      }
      this.#give(settled);
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
      context.newFunction('calls', (lines, last) => {
        const text = this.#textOf(lines);
        if (text !== '') for (const line of text.split('\n')) this.#call(line);
        // An engine without memory gives no text.
        if (this.#made !== context.dump(last)) this.#end(false, 'the script needs too much memory');
      }),
      context.newFunction('print', (line) => this.#print(this.#jsonOf(line))),
      context.newFunction('finish', (isOk, text) => this.#finish(context.dump(isOk) === true, this.#jsonOf(text))),
      context.newFunction('names', () => context.newString(this.#script.names)),
      context.newNumber(now),
      context.newNumber(seed),
    ]);
    if (made.error !== undefined) throw new Error(JSON.stringify(context.dump(made.error)));
    const parts = made.value;
    this.#given = { settle: context.getProp(parts, 'settle'), flush: context.getProp(parts, 'flush') };
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
    while (!this.#isOver) {
      const done = this.#runtime.executePendingJobs(jobsAtOnce);
      done.error?.dispose();
      this.#run(this.#given?.flush, []);
      if (this.#isLate) this.#end(false, this.#late);
      else if (this.#refused.length > 0) this.#give(this.#refused.splice(0));
      // Calls do not wait for jobs that go on and on.
      else if (this.#runtime.hasPendingJob()) this.#flush();
      else return;
    }
  }

  /** Calls a function of the first code. */
  #run(act: QuickJSHandle | undefined, args: readonly QuickJSHandle[]): void {
    if (act === undefined || this.#isOver) return;
    const done = this.#context.callFunction(act, this.#context.undefined, [...args]);
    if (done.error === undefined) done.value.dispose();
    else this.#thrown(done.error);
  }

  #textOf(handle: QuickJSHandle | undefined): string {
    return handle === undefined ? '' : this.#context.getString(handle);
  }

  /** The text that a function of the first code has given as JSON. */
  #jsonOf(handle: QuickJSHandle | undefined): string {
    return JSON.parse(this.#textOf(handle)) as string;
  }

  /** @param line the names of server and tool, and the arguments as JSON. */
  #call(line: string): void {
    const { calls, argumentLength, openLength } = this.#script.limits;
    const toolAt = line.indexOf(' ') + 1;
    const argsAt = line.indexOf(' ', toolAt) + 1;
    const length = line.length - argsAt;
    this.#made += 1;
    const id = this.#made;
    const refuse = (message: string): void => {
      this.#refused.push({ id, isOk: false, text: JSON.stringify({ message, reason: 'code.limit' }) });
    };
    if (this.#calls >= calls) refuse(`a script may make ${calls} calls (code.calls)`);
    else if (length > argumentLength) refuse(`the arguments have ${length} characters; ${argumentLength} are allowed`);
    else if (this.#openLength + length > openLength)
      refuse(
        `the arguments of calls that are open have ${this.#openLength} characters; ${openLength} are allowed: wait for some of them`,
      );
    else {
      this.#calls += 1;
      this.#open.set(id, length);
      this.#openLength += length;
      const [server, tool] = [line.slice(0, toolAt - 1), line.slice(toolAt, argsAt - 1)];
      this.#out.push({ kind: 'call', id, server, tool, args: line.slice(argsAt) });
    }
  }

  #print(line: string): void {
    const room = this.#script.limits.outputLength - this.#printed.length;
    if (room > 0)
      this.#printed +=
        line.length < room ? `${line}\n` : `${line.slice(0, room)}\n… (console.log: the rest is left out)\n`;
  }

  /** Gives the script outcomes, as many at once as fit into one text of the engine. */
  #give(settled: readonly SettledCall[]): void {
    const { memoryBytes } = this.#script.limits;
    let outcomes = '';
    const settle = (): void => {
      if (outcomes === '') return;
      const text = this.#context.newString(`[${outcomes}]`.toWellFormed());
      outcomes = '';
      this.#run(this.#given?.settle, [text]);
      text.dispose();
    };
    for (const { id, isOk, text } of settled) {
      if (outcomes.length + text.length > outcomesLength) settle();
      if (outcomes !== '') outcomes += ',';
      if (text.length >= memoryBytes / 4)
        outcomes += `[${id},false,${JSON.stringify({
          message: `the result has ${text.length} characters, which do not fit into the memory of the script (code.memory)`,
          reason: 'result.too_large',
        })}]`;
      else outcomes += text === '' ? `[${id},${isOk}]` : `[${id},${isOk},${text}]`;
    }
    settle();
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
