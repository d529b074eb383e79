/**
 * A reporter for vitest that prints the running file, the number of remaining files, and at the end the slowest files. With OMNIBUS_WHERE
 * (`npm test -- --where`) it also prints, as tables in Markdown, the causes that the time goes to, and the 40 slowest files and tests.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { causes } from './lanes.mjs';
import { processorFile, whereFile } from './where.mjs';

/** File into which processes of tests write what they start (`test/support/processes.ts`); undefined unless the causes are wanted. */
const starts = process.env.OMNIBUS_WHERE;
/** Number of the slowest files that are printed at the end. */
const slowest = starts === undefined ? 10 : 40;
/** Number of those in CONTRIBUTING.md. */
const shortList = 15;

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

  /** Tables in Markdown: the causes of the time with the slowest files, as CONTRIBUTING.md has them (`scripts/where.mjs`), and more of the slowest. */
  #where() {
    const processor = processorTimes();
    const sums = new Map(causes.map(([cause]) => [cause, { duration: 0, processor: 0, count: 0 }]));
    for (const [file, duration] of this.#durations) {
      const sum = sums.get(causes.find(([, pattern]) => pattern.test(file))[0]);
      sum.duration += duration;
      sum.processor += processor.get(file) ?? 0;
      sum.count += 1;
    }
    const lone = sumOf([...this.#alone].map((file) => this.#durations.get(file)));
    const started = existsSync(starts) ? readFileSync(starts, 'utf8').trim().split('\n').map(Number) : [];
    const all = sumOf([...this.#durations.values()]);
    const tableOfCauses = table(
      ['cause', 'files', 'seconds', 'of the processor'],
      [
        ...[...sums]
          .filter(([, { count }]) => count > 0)
          .toSorted(([, one], [, other]) => other.duration - one.duration)
          .map(([cause, sum]) => [cause, sum.count, seconds(sum.duration), seconds(sum.processor)]),
        ['**all**', this.#durations.size, seconds(all), seconds(sumOf([...processor.values()]))],
        ['of this: files that run alone, one after the other', this.#alone.size, seconds(lone), ''],
        [
          `of this: from the start of a process to the first line that its test waits for (${started.length} processes)`,
          '',
          seconds(sumOf(started)),
          '',
        ],
      ],
    );
    const files = first(this.#durations).map(([file, duration]) => [
      file,
      seconds(duration),
      seconds(processor.get(file) ?? 0),
    ]);
    const heads = ['slowest files', 'seconds', 'of the processor'];
    const tests = first(this.#tests).map(([test, duration]) => [test.replaceAll('|', '\\|'), seconds(duration)]);
    writeFileSync(whereFile(starts), `${tableOfCauses}\n${table(heads, files.slice(0, shortList))}`);
    console.log(
      `\nWhere the time goes. Files run beside each other, so their sum is more than the run takes.\n\n${tableOfCauses}\n${table(heads, files)}\n${table(['slowest tests', 'seconds'], tests)}`,
    );
  }
}

/** A table in Markdown. @param {readonly string[]} head @param {readonly (readonly (string | number)[])[]} rows of numbers, after the first column */
function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  return [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows].map(line).join('');
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

const sumOf = (numbers) => numbers.reduce((sum, each) => sum + each, 0);

const first = (durations) => [...durations].toSorted(([, one], [, other]) => other - one).slice(0, slowest);

const nameOf = (module) => relative(process.cwd(), module.moduleId);

const seconds = (milliseconds) => (milliseconds / 1_000).toFixed(1);

/** @param {number} milliseconds */
function minutes(milliseconds) {
  const whole = Math.round(milliseconds / 1_000);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
