/** Whether the programs that servers are started by are there. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { enabledServers, type Config } from '@omnibus/config';

/** Names that people mistype, and others that are there under another name. */
const likely: Readonly<Record<string, string>> = { nxp: 'npx', npxx: 'npx', uxv: 'uvx', uvxx: 'uvx', ndoe: 'node', nodejs: 'node', python: 'python3', pyhton: 'python3', dokcer: 'docker' };

/** Of servers whose program cannot be found, as far as can be told without starting it. */
export function missingPrograms(config: Config, baseFolder: string): { readonly server: string; readonly problem: string }[] {
  return [...enabledServers(config)].flatMap(([server, { command, cwd, problem }]) => {
    if (command === undefined || problem !== undefined || isThere(command, resolve(baseFolder, cwd ?? '.'))) return [];
    const other = likely[command];
    const advice = other === undefined ? 'install it, or write its whole path' : `did you mean "${other}"?`;
    return [{ server, problem: `there is no program ${JSON.stringify(command)}${/[/\\]/.test(command) ? '' : ' on the PATH'}: ${advice}` }];
  });
}

/** Whether a program would be found, started from a folder. */
function isThere(command: string, folder: string): boolean {
  if (isAbsolute(command) || /[/\\]/.test(command)) return isProgram(resolve(folder, command));
  const endings = process.platform === 'win32' ? ['', ...(process.env['PATHEXT'] ?? '.EXE;.CMD;.BAT').split(';')] : [''];
  return (process.env['PATH'] ?? '').split(delimiter).filter((each) => each !== '').some((each) => endings.some((ending) => isProgram(join(each, `${command}${ending}`))));
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
