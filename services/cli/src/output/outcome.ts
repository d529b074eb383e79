/** How commands end: the answer on stdout, a problem as text or JSON, and the exit status. */
import { GatewayError, printable } from '@omnibus/protocol';
import { exits, type Exit, CommandProblem } from '@omnibus/client';
import { alignColumns } from './table.ts';

/** Time limit in milliseconds for a failed command to send pending messages, such as a cancellation. */
const farewellMs = 1_000;

let watchesReader = false;

/** Ends this process when its answer cannot be written. The reader of a pipe may close it early, as `head` does; that is no failure. */
function endWithReader(): void {
  if (watchesReader) return;
  watchesReader = true;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exits.done.code);
    process.stderr.write(`omnibus: the answer could not be written: ${error.message}\n`);
    process.exit(exits.other.code);
  });
}

/** Runs a command and sets the exit status. An error it throws is printed, with `json` as JSON on stdout, else on stderr. */
export async function runCommand(json: boolean | undefined, work: () => Promise<Exit | void>): Promise<void> {
  endWithReader();
  try {
    process.exitCode = exits[(await work()) ?? 'done'].code;
  } catch (error) {
    const problem =
      error instanceof CommandProblem
        ? error
        : new CommandProblem(
            'other',
            error instanceof GatewayError || error instanceof Error ? error.message : String(error),
          );
    process.exitCode = exits[problem.exit].code;
    // Cancellations are still sent, but their answers are not awaited.
    setTimeout(() => process.exit(), farewellMs).unref();
    if (json === true)
      answer(
        `${JSON.stringify({ reason: problem.reason ?? problem.exit, problem: problem.message, advice: problem.advice, retry: problem.retry }, null, 2)}\n`,
      );
    else
      process.stderr.write(
        `${linesOf(problem.message)
          .map((line) => `omnibus: ${line}\n`)
          .join('')}${problem.advice === undefined ? '' : `    ${problem.advice}\n`}`,
      );
  }
}

/** The lines of a message, each without control characters; a configuration has a line for each of its mistakes. */
function linesOf(message: string): string[] {
  return message.split('\n', maxLines).map((line) => printable(line, 2_000));
}

/** Bound on the lines of one message: users do not read more mistakes at once. */
const maxLines = 200;

/** A value of a server as text: a string as it is, anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Writes to stdout, which carries the answer of a command and nothing else. */
export function answer(text: string): void {
  endWithReader();
  process.stdout.write(text);
}

export function answerJson(value: unknown): void {
  answer(`${JSON.stringify(value, null, 2)}\n`);
}

/** The answer as JSON with `--json`, else in words, which end with a line break. */
export function answerEither(json: boolean | undefined, value: unknown, words: string): void {
  if (json === true) answerJson(value);
  else answer(words);
}

interface List {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The sentence for an empty list; if undefined, the head alone is printed. */
  readonly none?: string;
}

/** A list as JSON where that was asked for, else as a table. */
export function answerList(json: boolean | undefined, value: unknown, { head, rows, none }: List): void {
  answerEither(json, value, `${none !== undefined && rows.length === 0 ? none : alignColumns([head, ...rows])}\n`);
}

/** Writes a line to stderr: progress, notices, questions, and everything else besides the answer. */
export function notice(text: string): void {
  process.stderr.write(`${text}\n`);
}
