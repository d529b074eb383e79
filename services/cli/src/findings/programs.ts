/** Checks whether the programs that start servers exist. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { enabledServers, type Config } from '@omnibus/config';

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

/** The servers with a missing program, as far as that is known without a start. */
export function missingPrograms(
  config: Config,
  baseFolder: string,
): { readonly server: string; readonly problem: string }[] {
  return [...enabledServers(config)].flatMap(([server, { command, args, cwd, problem, sandbox }]) => {
    if (sandbox !== undefined && !isThere('bwrap', baseFolder))
      return [
        {
          server,
          problem: 'its sandbox needs bubblewrap: the program bwrap on the PATH (Debian: apt-get install bubblewrap)',
        },
      ];
    if (command !== undefined && problem === undefined && cwd !== undefined && !isFolder(resolve(baseFolder, cwd)))
      return [
        {
          server,
          problem: `it starts in the folder ${JSON.stringify(resolve(baseFolder, cwd))} (\`cwd\`), which is not there`,
        },
      ];
    if (command === undefined || problem !== undefined || isThere(command, resolve(baseFolder, cwd ?? '.'))) return [];
    const other = likely[command];
    const advice = command.startsWith('~')
      ? 'no shell reads this, so write "${HOME}" instead of "~"'
      : other === undefined
        ? (scriptAdvice(command, args) ?? 'install it, or write its whole path')
        : `did you mean "${other}"?`;
    return [
      {
        server,
        problem: `there is no program ${JSON.stringify(command)}${/[/\\]/.test(command) ? '' : ' on the PATH'}: ${advice}`,
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
    ? `a script is an argument of its interpreter: write command: ${interpreters[ending] as string} and args: ${JSON.stringify([command, ...args])}`
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
