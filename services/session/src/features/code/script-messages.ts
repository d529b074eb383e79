/** Messages between a session worker and the thread that runs one script. Everything from the script is text, so no object of it reaches the worker. */
import type { SettledCall } from '../../call/inner-stream.ts';

export interface ScriptLimits {
  /** Milliseconds of computing. */
  readonly cpuMs: number;
  /** Bytes of memory of the script. */
  readonly memoryBytes: number;
  /** Calls of tools in all. */
  readonly calls: number;
  /** Characters of the arguments of one call. */
  readonly argumentLength: number;
  /** Characters of the arguments of all calls that are open. The worker holds them. */
  readonly openLength: number;
  /** Characters of everything that the script prints, and of its result. */
  readonly outputLength: number;
}

/** One script, as its thread gets it. */
export interface Script {
  /** TypeScript: the body of an async function. */
  readonly code: string;
  /** JSON: the names of functions by the name of their server. */
  readonly names: string;
  /** The time that the script sees, in milliseconds since 1970. It stands still. */
  readonly now: number;
  /** The beginning of its random numbers. */
  readonly seed: number;
  readonly limits: ScriptLimits;
}

/** To the thread. */
export interface ToScript {
  readonly settled: readonly SettledCall[];
}

export interface ScriptEnd {
  readonly isOk: boolean;
  /** The result as text or JSON, or the problem with line and column. */
  readonly text: string;
  /** What the script has printed. */
  readonly printed: string;
}

/**
 * From the thread.
 * `begun`: the engine is there, and the script begins.
 * `call`: the script calls a function. @param args JSON.
 * `idle`: the script waits for calls.
 */
export type FromScript =
  | { readonly kind: 'begun' }
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly server: string;
      readonly tool: string;
      readonly args: string;
    }
  | { readonly kind: 'idle' }
  | ({ readonly kind: 'end' } & ScriptEnd);
