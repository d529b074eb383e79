/**
 * Finds files that import each other in a circle, imports of types included: none of them can be read, moved or tested without the others.
 * The linter does not see circles that exist in types only.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';

const imports = /^(?:import|export)\b[^;'"]*?from\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gms;

/** @param files paths of the repository. @returns one circle of each group of files that import each other, as paths from its first file back to it. */
export function circlesOf(files) {
  const known = new Set(files);
  const imported = new Map(
    files.map((file) => [
      file,
      [...readFileSync(file, 'utf8').matchAll(imports)]
        .map(([, one, other]) => posix.join(posix.dirname(file), one ?? other))
        .filter((path) => known.has(path)),
    ]),
  );
  const inCircle = new Set();
  const circles = [];
  for (const file of [...files].sort((one, other) => (one < other ? -1 : 1))) {
    if (inCircle.has(file)) continue;
    const circle = wayBack(file, imported);
    if (circle === undefined) continue;
    circles.push(circle);
    for (const each of circle) inCircle.add(each);
  }
  return circles;
}

/** @returns the shortest way from a file back to itself; undefined if there is none. */
function wayBack(start, imported) {
  const ways = [[start]];
  const seen = new Set();
  for (const way of ways) {
    for (const next of imported.get(way.at(-1))) {
      if (next === start) return [...way, start];
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}
