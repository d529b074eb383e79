/**
 * Ends what our child processes leave when we are killed ourselves. A gateway that gets SIGKILL cannot stop its children;
 * most end when their input does, but not all, and what they started may live on. So a small shell holds the other end of
 * a pipe from us and knows our children's process groups: when the pipe ends, it waits a moment and kills what is left.
 */
import { spawn, type ChildProcess } from 'node:child_process';

/** Reads `add GROUP` and `del GROUP` until we are gone. POSIX shell; the pauses are the grace of an orderly shutdown. */
const script = `
groups=""
while read -r verb group; do
  case "$verb" in
    add) groups="$groups $group" ;;
    del) rest=""
         for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
         groups="$rest" ;;
  esac
done
[ -n "$groups" ] || exit 0
sleep 2
for each in $groups; do kill -TERM -"$each" 2>/dev/null; done
sleep 2
for each in $groups; do kill -KILL -"$each" 2>/dev/null; done
`;

let reaper: ChildProcess | undefined;

/** @param pid of a child that leads its process group. */
export function guardGroup(pid: number): void {
  if (reaper === undefined) {
    // A group of its own, so that Ctrl-C does not end it before us.
    reaper = spawn('sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    reaper.unref();
    reaper.on('error', forget).on('exit', forget);
    reaper.stdin?.on('error', forget);
    (reaper.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  }
  reaper.stdin?.write(`add ${pid}\n`);
}

export function releaseGroup(pid: number): void {
  reaper?.stdin?.write(`del ${pid}\n`);
}

/** Without a shell there is nobody to guard; children still hear their input end. */
function forget(): void {
  reaper = undefined;
}
