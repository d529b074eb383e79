/** How a command ends: what it answers on stdout, what is wrong in words or as JSON, and the exit status. */
import { GatewayError, isObject, printable } from '@omnibus/protocol';
import { exits, type Exit } from './exit-codes.ts';

/** What ends a command, and is said to whoever gave it. */
export class CommandProblem extends Error {
  readonly exit: Exit;
  readonly advice: string | undefined;
  /** Word of `docs/errors.md`, where a gateway said it. */
  readonly reason: string | undefined;
  readonly retry: string | undefined;
  /** Of the error of JSON-RPC, where it is one. */
  readonly data: unknown;

  constructor(exit: Exit, message: string, more: { readonly data?: unknown; readonly advice?: string | undefined; readonly reason?: string | undefined; readonly retry?: string | undefined } = {}) {
    super(message);
    this.exit = exit;
    this.advice = more.advice;
    this.reason = more.reason;
    this.retry = more.retry;
    this.data = more.data;
  }
}

/** Time for what is still to be said when a command has failed. */
const farewellMs = 1_000;

/** Runs a command to its end. What it throws is said, as JSON on stdout where that was asked for, else on stderr. */
export async function runCommand(json: boolean | undefined, work: () => Promise<Exit | undefined>): Promise<void> {
  // Whoever reads may have read enough.
  process.stdout.on('error', () => process.exit(exits.done.code));
  try {
    process.exitCode = exits[(await work()) ?? 'done'].code;
  } catch (error) {
    const problem = error instanceof CommandProblem ? error : new CommandProblem('other', error instanceof GatewayError || error instanceof Error ? error.message : String(error));
    process.exitCode = exits[problem.exit].code;
    // What was cancelled is told so, and not waited for.
    setTimeout(() => process.exit(), farewellMs).unref();
    if (json === true) answer(`${JSON.stringify({ reason: problem.reason ?? problem.exit, problem: problem.message, advice: problem.advice, retry: problem.retry }, null, 2)}\n`);
    else process.stderr.write(`omnibus: ${printable(problem.message, 2_000)}${problem.advice === undefined ? '' : `\n    ${problem.advice}`}\n`);
  }
}

/** What a server says where a text is expected. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** stdout is for the answer alone. */
export function answer(text: string): void {
  process.stdout.write(text);
}

export function answerJson(value: unknown): void {
  answer(`${JSON.stringify(value, null, 2)}\n`);
}

/** Everything besides the answer: progress, notices, questions. */
export function notice(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** What a JSON-RPC error of a gateway or server means for whoever gave a command. */
export function problemOf(error: { readonly code: number; readonly message: string; readonly data?: unknown }): CommandProblem {
  const { reason, retry } = isObject(error.data) ? (error.data as { readonly reason?: string; readonly retry?: string }) : {};
  return new CommandProblem(exitOf(reason ?? '', error.code, error.message), error.message, { reason, retry, data: error.data });
}

function exitOf(reason: string, code: number, message: string): Exit {
  if (/^(tool|prompt|resource|task)\.(unknown|ambiguous)$/.test(reason) || reason === 'http.path_unknown' || (reason === '' && code === -32_002)) return 'unknown';
  if (reason.startsWith('auth.') || reason.endsWith('.forbidden') || /serves known callers only|wants to know who asks|\b40[13]\b/.test(message)) return 'forbidden';
  if (reason.endsWith('.timeout')) return 'timeout';
  if (/^(upstream\.(busy|connections)|session\.(limit|rate|busy)|gateway\.(busy|draining|interrupted)|request\.limit|upstream\.lost|state\.lost)$/.test(reason)) return 'busy';
  if (reason === 'upstream.unavailable' || reason === 'gateway.unavailable' || reason === 'upstream.refused') return 'unreachable';
  return reason === 'params.invalid' || code === -32_602 ? 'usage' : 'other';
}
