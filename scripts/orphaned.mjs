/** How often a process looks whether its parent is still there, in milliseconds. */
const lookMs = 500;

/**
 * Calls back when the process that started this one has ended. npm and the shell that it runs end at a signal and do not pass it on, so a program that they
 * have started would run on. On Windows a process keeps the number of its parent, and nothing is called.
 * @param {() => void} then
 */
export function whenOrphaned(then) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    then();
  }, lookMs);
  timer.unref();
}
