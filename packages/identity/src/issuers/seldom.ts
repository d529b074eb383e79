/** Milliseconds in which an operator is told of a problem once, since strangers can make it happen again with each request. */
const everyMs = 5_000;

/** Tells of problems, and leaves out those that come soon after one that was told. */
export function seldom(tell: (problem: string) => void): (problem: string) => void {
  let toldAt = -Infinity;
  return (problem) => {
    const now = performance.now();
    if (now - toldAt < everyMs) return;
    toldAt = now;
    tell(problem);
  };
}
