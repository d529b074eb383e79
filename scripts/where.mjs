/** The times of the gate in CONTRIBUTING.md, which `npm test -- --where` writes there: no other page names them. */
import { readFileSync, writeFileSync } from 'node:fs';

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
 * @param {string} run.starts the file with the starts of processes
 * @param {number} run.wholeMs milliseconds of the command
 * @param {number} run.testsMs milliseconds of its tests
 * @param {number} run.cores number of cores of the machine
 */
export function writeTimes({ file, starts, wholeMs, testsMs, cores }) {
  const words = `On ${cores} cores \`npm test\` takes ${minutes(wholeMs)} minutes, of which its tests take ${minutes(testsMs)}. Files run beside each other, so their sum is more.`;
  writeFileSync(file, withTimes(readFileSync(file, 'utf8'), `${words}\n\n${readFileSync(whereFile(starts), 'utf8')}`));
}

function minutes(milliseconds) {
  const whole = Math.round(milliseconds / 1_000);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
