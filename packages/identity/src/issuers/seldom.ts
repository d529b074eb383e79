/** Milliseconds in which a problem is logged once, since strangers can make it happen again with each request. */
const everyMs = 5_000;

/** Reports problems, and leaves out repetitions soon after a report. */
export function seldom(tell: (problem: string) => void): (problem: string) => void {
  let toldAt = -Infinity;
  return (problem) => {
    const now = performance.now();
    if (now - toldAt < everyMs) return;
    toldAt = now;
    tell(problem);
  };
}
