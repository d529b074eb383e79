/** What a run of the tests has come to, from the report of the test runner. */

/**
 * If a file or the preparation of its tests fails, the runner counts its tests as skipped, and no test as failed: these count as failed here.
 * @param {{ testResults: readonly { status: string, assertionResults: readonly { status: string }[] }[] }} report the JSON report of vitest
 * @param {number} status the exit status of the runner
 * @returns {{ passed: number, failed: number, skipped: number }} numbers of tests
 */
export function countsOf({ testResults }, status) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { status: ofFile, assertionResults } of testResults) {
    const has = (...wanted) => assertionResults.filter((test) => wanted.includes(test.status)).length;
    const [passed, failed, skipped] = [has('passed'), has('failed'), has('pending', 'skipped', 'todo')];
    counts.passed += passed;
    const isUnprepared = ofFile === 'failed' && failed === 0;
    counts.failed += isUnprepared ? Math.max(1, skipped) : failed;
    counts.skipped += isUnprepared ? 0 : skipped;
  }
  // An error outside of the files, such as one that a test caught nowhere.
  if (status !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}
