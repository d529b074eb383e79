/**
 * Ends what our child processes leave when we are killed ourselves. A gateway that gets SIGKILL cannot stop its children;
 * most end when their input does, but not all, and what they started may live on. So a small shell holds the other end of
 * a pipe from us and knows our children's process groups and marks: when the pipe ends, it waits a moment and kills what is left.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { markVariable } from './leftovers.ts';

/** Reads `add GROUP MARK` and `del GROUP MARK` until we are gone. POSIX shell; the pauses are the grace of an orderly shutdown. */
const script = `
programs=""
while read -r verb group mark; do
  case "$verb" in
    add) programs="$programs $group:$mark" ;;
    del) rest=""
         for each in $programs; do [ "$each" = "$group:$mark" ] || rest="$rest $each"; done
         programs="$rest" ;;
  esac
done
[ -n "$programs" ] || exit 0
end() {
  for each in $programs; do
    kill -"$1" -"\${each%%:*}" 2>/dev/null
    for file in $(grep -lF "${markVariable}=\${each#*:}" /proc/[0-9]*/environ 2>/dev/null); do
      pid="\${file#/proc/}"
      kill -"$1" "\${pid%/environ}" 2>/dev/null
    done
  done
}
sleep 2
end TERM
sleep 2
end KILL
`;

let reaper: ChildProcess | undefined;
/** Marks of the programs that run, by process id: a shell that has to be started again is told of them all. */
const programs = new Map<number, string>();

/** @param pid of a child that leads its process group. @param mark in its environment. */
export function guardProgram(pid: number, mark: string): void {
  programs.set(pid, mark);
  if (reaper === undefined) {
    reaper = start();
    for (const [each, itsMark] of programs) reaper?.stdin?.write(`add ${each} ${itsMark}\n`);
  } else {
    reaper.stdin?.write(`add ${pid} ${mark}\n`);
  }
}

export function releaseProgram(pid: number, mark: string): void {
  programs.delete(pid);
  reaper?.stdin?.write(`del ${pid} ${mark}\n`);
}

function start(): ChildProcess | undefined {
  try {
    // A group of its own, so that Ctrl-C does not end it before us; of our environment nothing, since it is there for all to read.
    const shell = spawn('sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' } });
    shell.unref();
    shell.on('error', forget).on('exit', forget);
    shell.stdin?.on('error', forget);
    if (shell.stdin !== null && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
    return shell;
  } catch {
    return undefined; // No process to spare now: the next program tries again.
  }
}

/** Without a shell there is nobody to guard; children still hear their input end. */
function forget(): void {
  reaper = undefined;
}
