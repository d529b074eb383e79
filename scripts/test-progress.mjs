/**
 * A reporter for vitest that prints the running file, the number of remaining files, and at the end the slowest files. With OMNIBUS_WHERE
 * (`npm test -- --where`) it also prints the 40 slowest files and tests, and the causes that the time goes to.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { causes } from './lanes.mjs';

/** File into which processes of tests write what they start (`test/support/processes.ts`); undefined unless the causes are wanted. */
const starts = process.env.OMNIBUS_WHERE;
/** Number of the slowest files that are printed at the end. */
const slowest = starts === undefined ? 10 : 40;

export default class TestProgress {
  #total = 0;
  #running = new Set();
  /** Milliseconds by file. */
  #durations = new Map();
  /** Files of the lane that runs one file after the other. */
  #alone = new Set();
  /** Milliseconds by test. */
  #tests = new Map();
  #startedAt = 0;

  /** @param {readonly unknown[]} specifications One for each file of this run. */
  onTestRunStart(specifications) {
    this.#total = specifications.length;
    this.#startedAt = Date.now();
    this.#durations.clear();
    if (starts !== undefined) rmSync(starts, { force: true });
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

  onTestCaseResult(test) {
    if (starts !== undefined)
      this.#tests.set(`${nameOf(test.module)}: ${test.fullName}`, test.diagnostic()?.duration ?? 0);
  }

  onTestModuleEnd(module) {
    const file = nameOf(module);
    this.#running.delete(file);
    this.#durations.set(file, module.diagnostic().duration);
    if (module.project.name === 'alone') this.#alone.add(file);
  }

  onTestRunEnd() {
    const took = minutes(Date.now() - this.#startedAt);
    if (starts === undefined) {
      const longest = first(this.#durations).map(([file, duration]) => `${file} ${minutes(duration)}`);
      console.log(
        `omnibus: ${this.#durations.size} of ${this.#total} files in ${took}; the longest: ${longest.join(', ')}`,
      );
    } else {
      console.log(`omnibus: ${this.#durations.size} of ${this.#total} files in ${took}`);
      this.#where();
    }
    if (this.#running.size > 0) console.log(`omnibus: not ended: ${[...this.#running].join(', ')}`);
  }

  #where() {
    console.log(`\nslowest files (seconds):`);
    for (const [file, duration] of first(this.#durations)) console.log(`${seconds(duration)}  ${file}`);
    console.log(`\nslowest tests (seconds):`);
    for (const [test, duration] of first(this.#tests)) console.log(`${seconds(duration)}  ${test}`);
    const sums = new Map(causes.map(([cause]) => [cause, 0]));
    for (const [file, duration] of this.#durations) {
      const [cause] = causes.find(([, pattern]) => pattern.test(file));
      sums.set(cause, sums.get(cause) + duration);
    }
    const lone = [...this.#alone].reduce((sum, file) => sum + this.#durations.get(file), 0);
    const started = existsSync(starts) ? readFileSync(starts, 'utf8').trim().split('\n').map(Number) : [];
    console.log(`\nwhere the time of files goes (seconds; files run beside each other):`);
    for (const [cause, duration] of sums) console.log(`${seconds(duration)}  ${cause}`);
    console.log(`of this:\n${seconds(lone)}  files that run alone, one after the other`);
    console.log(
      `${seconds(started.reduce((sum, each) => sum + each, 0))}  from the start of a process to the first line that its test waits for (${started.length} processes)`,
    );
  }
}

const first = (durations) => [...durations].toSorted(([, one], [, other]) => other - one).slice(0, slowest);

const nameOf = (module) => relative(process.cwd(), module.moduleId);

const seconds = (milliseconds) => (milliseconds / 1_000).toFixed(1).padStart(7);

/** @param {number} milliseconds */
function minutes(milliseconds) {
  const whole = Math.round(milliseconds / 1_000);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
