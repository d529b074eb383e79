/** Runs the tests several times beside a load of the processor, and prints every test that failed at least once. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * @param {object} options
 * @param {number} options.runs number of runs, one after the other
 * @param {number} options.load number of processes that keep a core busy meanwhile
 * @param {string} options.report the file into which each run writes its results, as vitest's JSON reporter does
 * @param {() => Promise<unknown>} options.run one run
 * @returns {Promise<number>} an exit status: 0 when no test failed in any run
 */
export async function repeatedly({ runs, load, report, run }) {
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
  /** Number of failures by test. */
  const failed = new Map();
  const times = [];
  try {
    for (let round = 1; round <= runs; round += 1) {
      const startedAt = Date.now();
      await run();
      times.push(Math.round((Date.now() - startedAt) / 1_000));
      for (const { name, status, message, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
        const failures = assertionResults.filter((each) => each.status === 'failed').map(({ fullName }) => fullName);
        // A file that cannot be loaded, or whose hooks fail, fails without a test.
        if (status === 'failed' && failures.length === 0) failures.push(message.split('\n')[0]);
        for (const failure of failures) failed.set(`${name}: ${failure}`, (failed.get(`${name}: ${failure}`) ?? 0) + 1);
      }
      console.log(
        `omnibus: run ${round} of ${runs} beside a load of ${load}: ${times.at(-1)} s, ${failed.size} tests have failed so far`,
      );
    }
  } finally {
    for (const burner of burners) burner.kill();
  }
  console.log(`omnibus: ${runs} runs beside a load of ${load} (${times.join(', ')} s)`);
  for (const [test, count] of [...failed].toSorted(([, one], [, other]) => other - one))
    console.log(`  failed ${count} times: ${test}`);
  if (failed.size === 0) console.log('  no test failed');
  return failed.size === 0 ? 0 : 1;
}
