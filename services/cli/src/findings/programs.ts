/** Checks whether the programs that start servers exist. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { enabledServers, shown, shownWords } from '@omnibus/config';
import { isObject } from '@omnibus/protocol';
import type { Written } from '../starts/starts.ts';

/** Common misspellings of programs, and programs that are often installed under another name. */
const likely: Readonly<Record<string, string>> = {
  nxp: 'npx',
  npxx: 'npx',
  uxv: 'uvx',
  uvxx: 'uvx',
  ndoe: 'node',
  nodejs: 'node',
  python: 'python3',
  pyhton: 'python3',
  dokcer: 'docker',
};

/** The servers with a missing program, as far as that is known without a start. Problems repeat the words of the file, with references unresolved. */
export function missingPrograms(
  { config, given }: Written,
  baseFolder: string,
): { readonly server: string; readonly problem: string }[] {
  const entries = isObject(given) && isObject(given['mcpServers']) ? given['mcpServers'] : {};
  return [...enabledServers(config)].flatMap(([server, { command, args, cwd, problem, sandbox }]) => {
    if (sandbox !== undefined && !isThere('bwrap', baseFolder))
      return [
        {
          server,
          problem: 'its sandbox needs bubblewrap: the program bwrap on the PATH (Debian: apt-get install bubblewrap)',
        },
      ];
    if (command === undefined || problem !== undefined) return [];
    const written = { command, args, cwd, ...(isObject(entries[server]) ? entries[server] : {}) };
    if (cwd !== undefined && !isFolder(resolve(baseFolder, cwd)))
      return [
        {
          server,
          problem: `it starts in the folder ${JSON.stringify(written.cwd === cwd ? resolve(baseFolder, cwd) : written.cwd)} (\`cwd\`), which is not there`,
        },
      ];
    if (isThere(command, resolve(baseFolder, cwd ?? '.'))) return [];
    const name = written.command;
    const other = likely[name];
    const advice = command.startsWith('~')
      ? 'no shell reads this, so write "${HOME}" instead of "~"'
      : other === undefined
        ? (scriptAdvice(name, Array.isArray(written.args) ? written.args.map(String) : args) ??
          'install it, or write its whole path')
        : `did you mean "${other}"?`;
    return [
      {
        server,
        problem: `there is no program ${JSON.stringify(shown(name))}${/[/\\]/.test(command) ? '' : ' on the PATH'}: ${advice}`,
      },
    ];
  });
}

const interpreters: Readonly<Record<string, string>> = {
  js: 'node',
  mjs: 'node',
  cjs: 'node',
  ts: 'node',
  py: 'python3',
  sh: 'sh',
  rb: 'ruby',
  php: 'php',
};

/** What to write for a script in the place of a program. */
function scriptAdvice(command: string, args: readonly string[]): string | undefined {
  const ending = /\.(\w+)$/.exec(command)?.[1] ?? '';
  return Object.hasOwn(interpreters, ending)
    ? `a script is an argument of its interpreter: write command: ${interpreters[ending] as string} and args: ${JSON.stringify(shownWords([command, ...args]))}`
    : undefined;
}

/** Whether a program would be found when it is started in a folder. */
function isThere(command: string, folder: string): boolean {
  if (isAbsolute(command) || /[/\\]/.test(command)) return isProgram(resolve(folder, command));
  const endings =
    process.platform === 'win32' ? ['', ...(process.env['PATHEXT'] ?? '.EXE;.CMD;.BAT').split(';')] : [''];
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((each) => each !== '')
    .some((each) => endings.some((ending) => isProgram(join(each, `${command}${ending}`))));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isProgram(path: string): boolean {
  try {
    if (!statSync(path).isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
