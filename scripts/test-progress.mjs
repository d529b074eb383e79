/**
 * A reporter for vitest that prints the running file, the number of remaining files, and at the end the slowest files. With OMNIBUS_WHERE
 * (`npm test -- --where`) it also prints, as tables in Markdown, the causes that the time goes to, and the 40 slowest files and tests.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { minutes, processorFile, seconds, slowest, table, tableOfFiles, tablesOf, whereFile } from './where.mjs';

/** File into which processes of tests write what they start (`test/support/processes.ts`); undefined unless the causes are wanted. */
const starts = process.env.OMNIBUS_WHERE;
/** Number of the slowest files, and with the causes of tests, that are printed at the end. */
const printed = starts === undefined ? 10 : 40;

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
    if (starts !== undefined) for (const file of [starts, processorFile(starts)]) rmSync(file, { force: true });
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
      const longest = slowest(this.#durations, printed).map(([file, duration]) => `${file} ${minutes(duration)}`);
      console.log(
        `omnibus: ${this.#durations.size} of ${this.#total} files in ${took}; the longest: ${longest.join(', ')}`,
      );
    } else {
      console.log(`omnibus: ${this.#durations.size} of ${this.#total} files in ${took}`);
      this.#where();
    }
    if (this.#running.size > 0) console.log(`omnibus: not ended: ${[...this.#running].join(', ')}`);
  }

  /** Tables in Markdown: the causes of the time with the slowest files, as CONTRIBUTING.md has them (`scripts/where.mjs`), and more of the slowest. */
  #where() {
    const processor = processorTimes();
    const started = existsSync(starts) ? readFileSync(starts, 'utf8').trim().split('\n').map(Number) : [];
    const tables = tablesOf({ durations: this.#durations, processor, alone: [...this.#alone], started });
    const tests = slowest(this.#tests, printed).map(([test, duration]) => [
      test.replaceAll('|', '\\|'),
      seconds(duration),
    ]);
    writeFileSync(whereFile(starts), tables);
    console.log(
      `\nWhere the time goes. Files run beside each other, so their sum is more than the run takes.\n\n${tables}\n${tableOfFiles(this.#durations, processor, printed)}\n${table(['slowest tests', 'seconds'], tests)}`,
    );
  }
}

/** Milliseconds of the processor by file; empty on systems that do not count those of ended children. */
function processorTimes() {
  const file = processorFile(starts);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return new Map(
    lines.map((line) => {
      const [, used, path] = /^(\S+) (.*)$/.exec(line);
      return [relative(process.cwd(), path), Number(used) * 1_000];
    }),
  );
}

const nameOf = (module) => relative(process.cwd(), module.moduleId);
