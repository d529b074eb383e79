/**
 * The official suites, run against real servers directly, and through the gateway with default settings and four more servers behind it: at the server's own
 * endpoint, and, when everything is run, at one that it shares with the other four. A check that fails only through the gateway is a fault of the gateway; one
 * that fails only directly is a difference that docs/reference/differences.md explains.
 */
import { tmpdir } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { runSuite, type SuiteName } from '../conformance/run-suite.ts';
import { startGateway } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { conformanceServers, startServer, untilAllAreUp } from './conformance-servers.ts';
import { explanationOfCheck } from './differences.ts';
import { installed } from './published.ts';
import { revisions, Speaker } from './speaker.ts';
import { isWhole, make, makingLimitMs, usable } from './toolchains.ts';

/** `isBrief`: always run. The older suite, whose checks are all in the newer one, is run only when everything is run. */
const allRuns: readonly { readonly suite: SuiteName; readonly args: readonly string[]; readonly isBrief: boolean }[] = [
  { suite: '@modelcontextprotocol/conformance', args: ['--suite', 'all'], isBrief: false },
  { suite: 'conformance-next', args: ['--requirements', '2025-11-25'], isBrief: true },
  { suite: 'conformance-next', args: ['--requirements', '2026-07-28'], isBrief: true },
];
const runs = allRuns.filter(({ isBrief }) => isBrief || isWhole);
if (!isWhole)
  console.log(
    'left out: conformance 0.1.16, since 0.2.0-alpha.12 has all of its scenarios; `OMNIBUS_DIRECT=all npm test -- direct` runs it',
  );

function titleOf({ suite, args }: (typeof allRuns)[number]): string {
  return `${suite === 'conformance-next' ? '0.2.0-alpha.12' : '0.1.16'} ${args.join(' ')}`;
}

interface Score {
  /** Number of scenarios without a failed check. */
  readonly passed: number;
  readonly all: number;
  /** The problem of each failed check, by `scenario check`. */
  readonly failures: ReadonlyMap<string, string>;
  /** Checks that were made and did not fail, and scenarios without a failed check. */
  readonly good: ReadonlySet<string>;
}

/** @param only one scenario of the suite's run, by its name. */
async function scoreOf({ suite, args }: (typeof allRuns)[number], url: string, only?: string): Promise<Score> {
  const { scenarios } = await runSuite(
    suite,
    url,
    only === undefined
      ? args
      : [...args.flatMap((arg) => (arg === '--requirements' ? '--spec-version' : arg)), '--scenario', only],
  );
  const failures = new Map<string, string>();
  const good = new Set<string>();
  let passed = 0;
  let all = 0;
  for (const [scenario, checks] of scenarios) {
    // Only our own fixture has the extension; a server that answers calls of unknown tools with an error would pass some of these by accident.
    if (scenario.startsWith('tasks-')) continue;
    all += 1;
    const failed = checks.filter(({ status }) => status === 'FAILURE');
    if (failed.length === 0) {
      passed += 1;
      good.add(scenario);
    }
    for (const { id } of checks) good.add(`${scenario} ${id}`);
    for (const { id, errorMessage = '' } of failed) {
      failures.set(`${scenario} ${id}`, errorMessage);
      good.delete(`${scenario} ${id}`);
    }
  }
  return { passed, all, failures, good };
}

/** The unexplained differences: checks that fail on one side only, each with the problem, by `scenario check`. */
function differing(direct: Score, through: Score, isOfOtherEra: boolean): ReadonlyMap<string, string> {
  const differing = new Map<string, string>();
  for (const [check, problem] of through.failures) {
    // A check that was not reached directly, because an earlier one of its scenario failed, does not count.
    if (direct.good.has(check) || direct.good.has(scenarioOf(check))) differing.set(check, problem);
  }
  for (const check of direct.failures.keys()) {
    if (!through.failures.has(check) && explanationOfCheck(check, isOfOtherEra) === undefined)
      differing.set(check, 'fails directly only, which docs/reference/differences.md does not explain');
  }
  return differing;
}

function scenarioOf(check: string): string {
  return check.split(' ')[0] as string;
}

async function all(run: (typeof allRuns)[number], urls: readonly string[], only?: string): Promise<readonly Score[]> {
  return Promise.all(urls.map((url) => scoreOf(run, url, only)));
}

/** Other servers behind the gateway: a typical set, over stdio and of both eras. */
const others = {
  files: installed('mcp-server-filesystem', tmpdir()),
  memory: installed('mcp-server-memory'),
  everything: installed('mcp-server-everything'),
  greeter: { command: 'node', args: [fixturePath('sdk2-server')] },
};

/** It calls a tool that no list has, which only the endpoint of the tool's server takes. */
const atOwnEndpointOnly = /^server-stateless$/;

/** The suites mostly wait for timeouts, so two servers are tested at the same time, each directly and through a gateway. */
describe.each(usable(conformanceServers))('$name', { concurrent: true }, (asked) => {
  const { name } = asked;

  beforeAll(() => make(asked.needs), makingLimitMs);

  it('gives through the gateway what it gives directly', { timeout: 900_000 }, async () => {
    await using alone = await startServer(asked);
    await using behind = await startServer(asked);
    await using gateway = await startGateway('embedded', {
      mcpServers: { ...others, asked: { url: behind.url } },
      profiles: { shared: { servers: ['asked', ...Object.keys(others)], prefix: 'never' } },
    });
    await untilAllAreUp(gateway);
    await using modern = await Speaker.open({ url: alone.url }, 'modern');
    const endpoints = isWhole ? ['asked', 'shared'] : ['asked'];
    const urls = [alone.url, ...endpoints.map((endpoint) => `${gateway.url}/${endpoint}`)];
    const lost: string[] = [];
    for (const run of runs) {
      const [before, ...through] = (await all(run, urls)) as [Score, ...Score[]];
      const isOfOtherEra = run.args.includes(revisions.modern) && !modern.isUnderstood;
      for (const [index, endpoint] of endpoints.entries()) {
        const after = through[index] as Score;
        const title = `${name}: ${titleOf(run)}: /${endpoint}`;
        console.log(
          `${title}: ${before.passed} of ${before.all} scenarios directly, ${after.passed} of ${after.all} through the gateway`,
        );
        // Scenarios have time limits of their own, which a busy machine may exceed: a difference counts only when it occurs twice.
        for (const scenario of new Set([...differing(before, after, isOfOtherEra).keys()].map(scenarioOf))) {
          if (endpoint === 'shared' && atOwnEndpointOnly.test(scenario)) continue;
          console.log(`${title}: ${scenario} differs and is run once more`);
          const [direct, again] = await all(run, [alone.url, `${gateway.url}/${endpoint}`], scenario);
          for (const [check, problem] of differing(direct as Score, again as Score, isOfOtherEra))
            lost.push(`${title}: ${check}: ${problem}`);
        }
      }
    }
    expect(lost).toEqual([]);
  });
});
