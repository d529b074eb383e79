/** Runs the tests several times beside a load of the processor, and prints every test that failed at least once. */
import { spawn } from 'node:child_process';
import { relative } from 'node:path';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * @param {object} options
 * @param {number} options.runs number of runs, one after the other
 * @param {number} options.load number of processes that keep a core busy meanwhile
 * @param {string} options.report the file into which each run writes its results, as vitest's JSON reporter does
 * @param {string} [options.log] a file into which the results are written too, with the messages of failures
 * @param {() => Promise<number>} options.run one run, which resolves with its exit status
 * @returns {Promise<number>} an exit status: 0 when no test failed in any run
 */
export async function repeatedly({ runs, load, report, log, run }) {
  if (log !== undefined) writeFileSync(log, '');
  const record = (line) => log !== undefined && appendFileSync(log, `${line}\n`);
  const say = (line) => {
    console.log(line);
    record(line);
  };
  const burners = Array.from({ length: load }, () =>
    spawn(
      process.execPath,
      [
        '-e',
        'process.on("disconnect", () => process.exit()); const spin = () => { for (const end = Date.now() + 100; Date.now() < end;); setImmediate(spin); }; spin();',
      ],
      {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      },
    ),
  );
  // The tests end at a signal by themselves; no further run begins.
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  /** Number of failures by test. */
  const failed = new Map();
  const times = [];
  try {
    for (let round = 1; round <= runs; round += 1) {
      const startedAt = Date.now();
      const status = await run();
      if (isStopped) break;
      times.push(Math.round((Date.now() - startedAt) / 1_000));
      for (const { test, message } of failuresIn(report, status)) {
        failed.set(test, (failed.get(test) ?? 0) + 1);
        record(`run ${round} failed: ${test}\n${message}`);
      }
      say(
        `omnibus: run ${round} of ${runs} beside a load of ${load}: ${times.at(-1)} s, ${failed.size} tests have failed so far`,
      );
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    for (const burner of burners) burner.kill();
  }
  const made = isStopped ? `stopped after ${times.length} of ${runs} runs` : `${runs} runs`;
  say(`omnibus: ${made} beside a load of ${load} (${times.join(', ')} s)`);
  for (const [test, count] of [...failed].toSorted(([, one], [, other]) => other - one))
    say(`  failed ${count} times: ${test}`);
  if (failed.size === 0) say('  no test failed');
  return failed.size === 0 && !isStopped ? 0 : 1;
}

/**
 * The failures of one run.
 * @param {string} report the file of its results
 * @param {number} status its exit status
 * @returns {{ test: string, message: string }[]}
 */
function failuresIn(report, status) {
  if (!existsSync(report)) return [{ test: 'the test runner itself', message: 'it ended without results' }];
  const failures = failedIn(report);
  return status !== 0 && failures.length === 0
    ? [{ test: 'no test, but the run', message: `it ended with status ${status}, as after an error outside of tests` }]
    : failures;
}

function failedIn(report) {
  return JSON.parse(readFileSync(report, 'utf8')).testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failures = assertionResults
      .filter((each) => each.status === 'failed')
      .map(({ fullName, failureMessages }) => ({
        test: `${relative(process.cwd(), name)}: ${fullName}`,
        message: failureMessages.join('\n'),
      }));
    // A file that cannot be loaded, or whose hooks fail, fails without a test.
    return status === 'failed' && failures.length === 0
      ? [{ test: `${relative(process.cwd(), name)}: ${message.split('\n')[0]}`, message }]
      : failures;
  });
}
