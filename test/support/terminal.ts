/** Runs commands on a pseudo-terminal, as people do, and in a pipe, as scripts do. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { omnibusProgram, root } from './processes.ts';

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Python's standard library has pseudo-terminals, and that of Node has none. */
const onPty = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
/** On Linux, `script` has them too and starts in a twentieth of the time. Others of this name have other options. */
const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** The words that run a program on a pseudo-terminal and end with its status. */
function terminalOf(words: readonly string[]): readonly [string, ...string[]] {
  if (!hasScript) return ['python3', '-c', onPty, ...words];
  const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  return ['script', '--quiet', '--return', '--flush', '--command', `exec ${line}`, '/dev/null'];
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
}

/** Runs a command in a pipe. */
export async function inPipe(
  args: readonly string[],
  { env = {}, cwd = root, stdin = '' }: RunOptions = {},
): Promise<Ran> {
  const child = spawn('node', [omnibusProgram, ...args], { cwd, env: { ...process.env, ...env }, stdio: 'pipe' });
  const out = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (out.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (out.stderr += text));
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status: status ?? -1, ...out };
}

/**
 * Runs a command on a terminal, and types there.
 * @param typed texts that are typed when the output matches, in this order.
 * @returns the output of the terminal.
 */
export async function onTerminal(
  args: readonly string[],
  typed: readonly (readonly [RegExp, string])[] = [],
  { env = {}, cwd = root }: RunOptions = {},
): Promise<{ readonly status: number; readonly shown: string }> {
  // In CI, commands would assume that no person is present, and Node would use no colours.
  const { CI: _ci, NO_COLOR: _plain, FORCE_COLOR: _coloured, ...own } = process.env;
  const [program, ...words] = terminalOf(['node', omnibusProgram, ...args]);
  const child = spawn(program, words, {
    cwd,
    env: { ...own, TERM: 'xterm', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  let seen = 0;
  const left = [...typed];
  child.stdin.on('error', () => undefined);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    const match = left[0]?.[0].exec(shown.slice(seen));
    if (match === undefined || match === null) return;
    seen = shown.length;
    child.stdin.write((left.shift() as readonly [RegExp, string])[1]);
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status: status ?? -1, shown };
}
