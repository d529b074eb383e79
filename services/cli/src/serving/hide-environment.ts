/**
 * Hides the environment of this process from the programs it starts. On Linux every process of a user can read `/proc/PID/environ` of
 * every other: the memory with the environment as it was at the start, even if it was changed since. So the variables are set again, which
 * copies them to other memory, and the original memory is overwritten. Nothing else changes (process id, signals, exit codes, terminal),
 * and it takes less than a millisecond.
 *
 * Limits: a program of the same user may still read the memory of this process as a debugger does, where the system allows that, and the
 * environment of the process that started this one. Running a server as another user (option `user`) prevents both.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { plainVariables } from '@omnibus/protocol';

/** Variables that are not overwritten: programs get them anyway, and they hold no secrets. */
const harmless = new Set<string>([...plainVariables, 'PWD', 'HOSTNAME']);
/** Fields of `/proc/self/stat` after the name of the program (proc_pid_stat(5): 50 and 51). */
const [startField, endField] = [47, 48];

/** @returns why the environment could not be hidden; undefined when it was, or where the system does not expose it. */
export function hideEnvironment(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const before = { ...process.env };
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [start, end] = [Number(fields[startField]), Number(fields[endField])];
    if (!(start > 0 && end > start)) return 'the system does not tell where it keeps the environment';
    setAnew(before);
    overwrite(start, blanked(readFileSync('/proc/self/environ')).subarray(0, end - start));
    // If the C library still pointed into that memory, the variables are set again, so that none is lost.
    if (Object.entries(before).some(([name, value]) => process.env[name] !== value)) setAnew(before);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function setAnew(variables: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] = value;
}

/** The same bytes with every entry zeroed that is not harmless. */
function blanked(block: Buffer): Buffer {
  for (let at = 0; at < block.length;) {
    const next = block.indexOf(0, at);
    const stop = next === -1 ? block.length : next;
    const name = block.toString('latin1', at, stop).split('=', 1)[0] ?? '';
    if (!harmless.has(name)) block.fill(0, at, stop);
    at = stop + 1;
  }
  return block;
}

function overwrite(position: number, bytes: Buffer): void {
  const memory = openSync('/proc/self/mem', 'r+');
  try {
    writeSync(memory, bytes, 0, bytes.length, position);
  } finally {
    closeSync(memory);
  }
}
