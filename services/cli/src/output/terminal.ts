/** Questions to a person at a terminal, and text for one. */
import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { printable } from '@omnibus/protocol';
import { CommandProblem } from '@omnibus/client';

export interface InputOptions {
  /** False with `--no-input`. */
  readonly input?: boolean;
}

/** Whether questions are possible: stdin and stderr are a terminal. stdout need not be, so that the answer of the command can be piped. */
export function isInteractive({ input = true }: InputOptions = {}): boolean {
  return input && process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks for one line. @param fallback shown in brackets, and taken for an empty line.
 * @throws {CommandProblem} when the terminal is closed meanwhile.
 */
export async function ask(question: string, fallback?: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  try {
    const closed = new Promise<never>((_, reject) => {
      lines.once('close', () => reject(new CommandProblem('interrupted', 'nothing was answered')));
      lines.once('SIGINT', () => lines.close());
    });
    const line = (
      await Promise.race([lines.question(`${question}${fallback === undefined ? '' : ` [${fallback}]`} `), closed])
    ).trim();
    return line === '' ? (fallback ?? '') : line;
  } finally {
    lines.removeAllListeners('close');
    lines.close();
  }
}

/** Asks until the answer is yes or no. @param fallback the answer that an empty line stands for. */
export async function confirm(question: string, fallback: boolean): Promise<boolean> {
  for (;;) {
    const said = (await ask(`${question} ${fallback ? '[Y/n]' : '[y/N]'}`)).toLowerCase();
    if (said === '') return fallback;
    if (/^(y|yes)$/.test(said)) return true;
    if (/^(n|no)$/.test(said)) return false;
  }
}

/** Styles a text, unless NO_COLOR is set or the stream is no terminal. */
export function paint(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return styleText(style, text, { stream });
}

const isWide =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u;

/** Cuts a line to the width of the terminal; elsewhere nothing is cut. */
export function fitLine(text: string): string {
  if (!process.stdout.isTTY) return text;
  const columns = process.stdout.columns || 80;
  let width = 0;
  let kept = '';
  for (const character of text) {
    width += isWide.test(character) ? 2 : 1;
    if (width > columns - 1) return `${kept}…`;
    kept += character;
  }
  return text;
}

/** Text of a server: without control characters on a terminal, unchanged in a pipe. */
export function shown(text: string): string {
  if (!process.stdout.isTTY) return text;
  return text
    .split('\n')
    .map((line) =>
      line
        .split('\t')
        .map((part) => printable(part, Number.MAX_SAFE_INTEGER))
        .join('\t'),
    )
    .join('\n');
}
