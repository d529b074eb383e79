/** The times of the gate in CONTRIBUTING.md, which `npm test -- --where` writes there: no other page names them. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { causes } from './lanes.mjs';

/** Number of the slowest files in CONTRIBUTING.md. */
const shortList = 15;

const begin = '<!-- written by npm test -- --where -->\n';
const end = '<!-- end of what npm test -- --where has written -->\n';

/** The file into which the reporter of the tests writes the causes of their time. @param {string} starts the file with the starts of processes */
export const whereFile = (starts) => `${starts}.md`;

/** The file with a line for each file of tests: its seconds of processor time, and its path (`processor-time.mjs`). @param {string} starts as above */
export const processorFile = (starts) => `${starts}.processor`;

/**
 * @param {string} page the text of a page with the two marks
 * @param {string} times the Markdown between them
 * @returns {string} the page with these times
 * @throws {Error} where a mark is missing
 */
export function withTimes(page, times) {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page lacks the lines "${begin.trim()}" and "${end.trim()}"`);
  return `${page.slice(0, from + begin.length)}\n${times.trim()}\n\n${page.slice(to)}`;
}

/**
 * Writes what a whole run took.
 * @param {object} run
 * @param {string} run.file the path of the page
 * @param {string} run.tables the tables, as Markdown
 * @param {number} run.wholeMs milliseconds of the command
 * @param {number} run.testsMs milliseconds of its tests
 * @param {number} run.cores number of cores of the machine
 */
export function writeTimes({ file, tables, wholeMs, testsMs, cores }) {
  const words = `On ${cores} cores \`npm test\` takes ${minutes(wholeMs)} minutes, of which its tests take ${minutes(testsMs)}. Files run beside each other, so their sum is more.`;
  writeFileSync(file, withTimes(readFileSync(file, 'utf8'), `${words}\n\n${tables}`));
}

/** The last line of a whole gate that has passed. @param {number} wholeMs milliseconds of the command @param {number} cores number of cores of the machine */
export const tookLine = (wholeMs, cores) => `omnibus: the whole gate took ${minutes(wholeMs)} on ${cores} cores`;

/**
 * The log that `--where` names.
 * @param {readonly string[]} words those of the command
 * @returns {string | undefined} its path; undefined where tests are to run
 * @throws {Error} where the word after `--where` is neither a file nor a test
 */
export function logOf([option, path]) {
  if (option !== '--where' || path === undefined || path.startsWith('-') || path.endsWith('.test.ts')) return undefined;
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return path;
  throw new Error(`${path} is no file. \`--where LOG\` reads the log of a run; names of tests come before \`--where\``);
}

/** What CI writes before each line of a log that is downloaded: the job and the step with tabs, or neither, and the time. */
const stamp = /^\uFEFF?(?:[^\n]*\t\uFEFF?)?\d{4}-\d\d-\d\dT[\d:.]+Z ?/gm;

/**
 * What a run took, from its log.
 * @param {string} log what `npm test` has printed, with or without colours, and times before its lines
 * @returns {{ tables: string, wholeMs: number, testsMs: number, cores: number }} as `writeTimes` takes them
 * @throws {Error} where the log is not that of one whole gate that has passed, or lacks files
 */
export function timesOf(log) {
  const text = stripVTControlCharacters(log).replaceAll('\r', '').replace(stamp, '');
  const end = /^omnibus: (\d+) of \1 files in (\d+):(\d\d)/m.exec(text);
  const took = /^omnibus: the whole gate took (\d+):(\d\d) on (\d+) cores$/m.exec(text);
  if (end === null || took === null || /^ *(Test Files .*failed|Errors +\d)/m.test(text))
    throw new Error('this is no log of a whole `npm test` that has passed');
  // Without colours, the name of the project is between bars.
  const files = text.matchAll(/^ ✓ +\|?\w+\|? +(\S+) \(\d+ tests?[^)]*\) *(\d+)ms$/gm);
  const durations = new Map([...files].map(([, file, ms]) => [file, Number(ms)]));
  if (durations.size !== Number(end[1]))
    throw new Error(`this log has the times of ${durations.size} files, and ${end[1]} have run`);
  const milliseconds = (ofMinutes, ofSeconds) => (Number(ofMinutes) * 60 + Number(ofSeconds)) * 1_000;
  return {
    tables: tablesOf({ durations }),
    wholeMs: milliseconds(took[1], took[2]),
    testsMs: milliseconds(end[2], end[3]),
    cores: Number(took[3]),
  };
}

/**
 * The tables in CONTRIBUTING.md: the causes of the time, and the slowest files.
 * @param {object} run
 * @param {ReadonlyMap<string, number>} run.durations milliseconds by file
 * @param {ReadonlyMap<string, number>} [run.processor] milliseconds of the processor by file, where they are known
 * @param {readonly string[]} [run.alone] files that run alone
 * @param {readonly number[]} [run.started] milliseconds from the start of each process to its first line, where they are known
 * @returns {string} Markdown
 */
export function tablesOf({ durations, processor, alone = [], started }) {
  const sums = new Map(causes.map(([cause]) => [cause, { duration: 0, processor: 0, count: 0 }]));
  for (const [file, duration] of durations) {
    const sum = sums.get(causes.find(([, pattern]) => pattern.test(file))[0]);
    sum.duration += duration;
    sum.processor += processor?.get(file) ?? 0;
    sum.count += 1;
  }
  /** A row, with the seconds of the processor where they are known. */
  const row = (cells, ofProcessor) => (processor === undefined ? cells : [...cells, ofProcessor]);
  const rows = [
    ...[...sums]
      .filter(([, { count }]) => count > 0)
      .toSorted(([, one], [, other]) => other.duration - one.duration)
      .map(([cause, sum]) => row([cause, sum.count, seconds(sum.duration)], seconds(sum.processor))),
    row(
      ['**all**', durations.size, seconds(sumOf([...durations.values()]))],
      seconds(sumOf([...(processor?.values() ?? [])])),
    ),
  ];
  if (alone.length > 0) {
    const took = seconds(sumOf(alone.map((file) => durations.get(file))));
    rows.push(row(['of this: files that run alone, one after the other', alone.length, took], ''));
  }
  if (started !== undefined) {
    const what = `of this: from the start of a process to the first line that its test waits for (${started.length} processes)`;
    rows.push(row([what, '', seconds(sumOf(started))], ''));
  }
  const heads = row(['cause', 'files', 'seconds'], 'of the processor');
  return `${table(heads, rows)}\n${tableOfFiles(durations, processor, shortList)}`;
}

/** The slowest files. @param {ReadonlyMap<string, number>} durations @param {ReadonlyMap<string, number> | undefined} processor as above @param {number} count */
export function tableOfFiles(durations, processor, count) {
  const known = processor !== undefined;
  const rows = slowest(durations, count).map(([file, duration]) => [
    file,
    seconds(duration),
    ...(known ? [seconds(processor.get(file) ?? 0)] : []),
  ]);
  return table(['slowest files', 'seconds', ...(known ? ['of the processor'] : [])], rows);
}

/** A table in Markdown. @param {readonly string[]} head @param {readonly (readonly (string | number)[])[]} rows of numbers, after the first column */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  return [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows].map(line).join('');
}

/** The entries that took longest, first. @param {ReadonlyMap<string, number>} durations milliseconds @param {number} count */
export const slowest = (durations, count) =>
  [...durations].toSorted(([, one], [, other]) => other - one).slice(0, count);

/** @param {number} milliseconds */
export const seconds = (milliseconds) => (milliseconds / 1_000).toFixed(1);

const sumOf = (numbers) => numbers.reduce((sum, each) => sum + each, 0);

/** @param {number} milliseconds */
export function minutes(milliseconds) {
  const whole = Math.round(milliseconds / 1_000);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
