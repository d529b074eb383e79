/**
 * A reporter for vitest that prints the running file, the number of remaining files, and at the end the slowest files, since the whole run takes half an
 * hour.
 */
import { relative } from 'node:path';

/** Number of the slowest files that are printed at the end. */
const slowest = 10;

export default class TestProgress {
  #total = 0;
  #running = new Set();
  /** Milliseconds by file. */
  #durations = new Map();
  #startedAt = 0;

  /** @param {readonly unknown[]} specifications One for each file of this run. */
  onTestRunStart(specifications) {
    this.#total = specifications.length;
    this.#startedAt = Date.now();
    this.#durations.clear();
    console.log(`omnibus: ${this.#total} files of tests`);
  }

  onTestModuleStart(module) {
    const file = nameOf(module);
    this.#running.add(file);
    // Unit tests take moments, so they get no line of their own.
    if (module.project.name === 'system')
      console.log(
        `omnibus: ${minutes(Date.now() - this.#startedAt)}, ${this.#durations.size} of ${this.#total} files done; now ${file}`,
      );
  }

  onTestModuleEnd(module) {
    const file = nameOf(module);
    this.#running.delete(file);
    this.#durations.set(file, module.diagnostic().duration);
  }

  onTestRunEnd() {
    const ordered = [...this.#durations].toSorted(([, one], [, other]) => other - one).slice(0, slowest);
    console.log(
      `omnibus: ${this.#durations.size} of ${this.#total} files in ${minutes(Date.now() - this.#startedAt)}; the longest: ${ordered.map(([file, duration]) => `${file} ${minutes(duration)}`).join(', ')}`,
    );
    if (this.#running.size > 0) console.log(`omnibus: not ended: ${[...this.#running].join(', ')}`);
  }
}

const nameOf = (module) => relative(process.cwd(), module.moduleId);

/** @param {number} milliseconds */
function minutes(milliseconds) {
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
