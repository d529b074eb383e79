/**
 * What clients get of real servers directly, and what they get through the gateway by default settings, with four more servers
 * behind it: the official suites, run against both. Anything that fails through the gateway and not directly is a fault of the gateway.
 */
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { runSuite, type SuiteName } from '../conformance/run-suite.ts';
import { startGateway } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { directServers, listening } from './toolchains.ts';

const runs: readonly (readonly [suite: SuiteName, args: readonly string[]])[] = [
  ['@modelcontextprotocol/conformance', ['--suite', 'all']],
  ['conformance-next', ['--requirements', '2025-11-25']],
  ['conformance-next', ['--requirements', '2026-07-28']],
];

interface Score {
  readonly run: string;
  /** Scenarios without a failed check, of all. */
  readonly passed: number;
  readonly all: number;
  /** `scenario check: what was wrong` of each failed check. */
  readonly failures: ReadonlyMap<string, string>;
}

async function score(url: string): Promise<readonly Score[]> {
  const scores: Score[] = [];
  for (const [suite, args] of runs) {
    const { scenarios } = await runSuite(suite, url, args);
    const failures = new Map<string, string>();
    let passed = 0;
    let all = 0;
    for (const [scenario, checks] of scenarios) {
      // Only our own fixture has the extension; a server that calls any unknown tool a failed one passes some of these by accident.
      if (scenario.startsWith('tasks-')) continue;
      all += 1;
      const failed = checks.filter(({ status }) => status === 'FAILURE');
      if (failed.length === 0) passed += 1;
      for (const { id, errorMessage = '' } of failed) failures.set(`${scenario} ${id}`, errorMessage);
    }
    scores.push({ run: `${suite === 'conformance-next' ? '0.2.0-alpha.12' : '0.1.16'} ${args.join(' ')}`, passed, all, failures });
  }
  return scores;
}

/** Besides the one that is asked: what a team may have, over stdio and of both eras. */
const others = {
  files: { command: 'npx', args: ['--no-install', 'mcp-server-filesystem', tmpdir()] },
  memory: { command: 'npx', args: ['--no-install', 'mcp-server-memory'] },
  everything: { command: 'npx', args: ['--no-install', 'mcp-server-everything'] },
  greeter: { command: 'node', args: [fixturePath('sdk2-server')] },
};

describe.each(directServers())('$name', (asked) => {
  const { name } = asked;

  it('gives through the gateway what it gives directly', { timeout: 900_000 }, async () => {
    await asked.prepare?.();
    await using server = asked.start();
    const url = await listening(server);
    await using gateway = await startGateway('embedded', { mcpServers: { ...others, asked: { url } } });
    const direct = await score(url);
    const through = await score(`${gateway.url}/asked`);
    const lost: string[] = [];
    for (const [index, { run, failures, passed, all }] of through.entries()) {
      const before = direct[index] as Score;
      console.log(`${name}: ${run}: ${before.passed} of ${before.all} scenarios directly, ${passed} of ${all} through the gateway`);
      for (const [check, problem] of failures) if (!before.failures.has(check)) lost.push(`${run}: ${check}: ${problem}`);
    }
    expect(lost).toEqual([]);
  });
});
