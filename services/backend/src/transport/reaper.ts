/**
 * Ends the processes that our child processes leave behind when the gateway itself is killed. A gateway that gets SIGKILL cannot stop its children; most of
 * them end when their input closes, but not all, and processes that they started may live on. So a small shell holds the other end of a pipe from us and
 * knows the process groups and marks of our children: when the pipe closes, it waits a moment and kills the rest.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { markVariable } from './leftovers.ts';

/** Reads `add GROUP MARK` and `del GROUP MARK` until the gateway is gone. POSIX shell; the pauses give processes time for an orderly shutdown. */
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
/** Marks of running programs by process id, for a shell that must be started again. */
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
    // The shell has a process group of its own, so that Ctrl-C does not end it before us, and nothing of our environment, which every process of this user could read.
    const shell = spawn('sh', ['-c', script], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    });
    shell.unref();
    shell.on('error', forget).on('exit', forget);
    shell.stdin?.on('error', forget);
    if (shell.stdin !== null && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
    return shell;
  } catch {
    return undefined; // No process can be started now; it is tried again with the next program.
  }
}

/** Without a shell the programs are not ended by force; they can still notice that their input closes. */
function forget(): void {
  reaper = undefined;
}
