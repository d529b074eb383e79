/**
 * Measures the coupling within a service: the number of pairs of top-level folders or files of `src` of which one imports from the other. Tests, and
 * modules that only tests import, are not counted.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';

const imports = /^(?:import|export)\b[^;'"]*?from\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gms;

/** @param files paths of the repository. @returns `from -> to` for each pair of one service, in order. */
export function arrowsOf(service, files) {
  const src = `services/${service}/src/`;
  const top = (file) => file.slice(src.length).split('/')[0];
  const arrows = new Set();
  for (const file of files) {
    if (!file.startsWith(src) || isForTests(file)) continue;
    for (const [, one, other] of readFileSync(file, 'utf8').matchAll(imports)) {
      const target = posix.join(posix.dirname(file), one ?? other);
      if (target.startsWith(src) && top(target) !== top(file)) arrows.add(`${top(file)} -> ${top(target)}`);
    }
  }
  return [...arrows].sort((one, other) => (one < other ? -1 : 1));
}

function isForTests(file) {
  return /\.test\.ts$|-under-test\.ts$|\/testing\//.test(file);
}
