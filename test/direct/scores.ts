/** The result of an official suite: the checks of each scenario, and how two runs differ. */
import { runSuite, type SuiteName } from '../conformance/run-suite.ts';
import { explanationOfCheck, type Difference } from './differences.ts';

export interface Run {
  readonly suite: SuiteName;
  readonly args: readonly string[];
  /** Whether it runs every time. The newer suite has all checks of the older one, which runs only with everything. */
  readonly isBrief: boolean;
}

export const allRuns: readonly Run[] = [
  { suite: '@modelcontextprotocol/conformance', args: ['--suite', 'all'], isBrief: false },
  { suite: 'conformance-next', args: ['--requirements', '2025-11-25'], isBrief: true },
  { suite: 'conformance-next', args: ['--requirements', '2026-07-28'], isBrief: true },
];

export function titleOf({ suite, args }: Run): string {
  return `${suite === 'conformance-next' ? '0.2.0-alpha.12' : '0.1.16'} ${args.join(' ')}`;
}

/** The executed checks of a scenario, and the problem of each that failed. */
interface Scenario {
  readonly made: ReadonlySet<string>;
  readonly failures: ReadonlyMap<string, string>;
}

/** The scenarios of a run, by name. */
export type Score = ReadonlyMap<string, Scenario>;

/** @param only one scenario of the suite's run, by its name. */
export async function scoreOf({ suite, args }: Run, url: string, only?: string): Promise<Score> {
  const { scenarios } = await runSuite(
    suite,
    url,
    only === undefined
      ? args
      : [...args.flatMap((arg) => (arg === '--requirements' ? '--spec-version' : arg)), '--scenario', only],
  );
  return new Map(
    [...scenarios]
      // Only our own fixture has the extension; a server that answers calls of unknown tools with an error would pass some of these by accident.
      .filter(([name]) => !name.startsWith('tasks-'))
      .map(([name, checks]) => [
        name,
        {
          made: new Set(checks.map(({ id }) => id)),
          failures: new Map(
            checks
              .filter(({ status }) => status === 'FAILURE')
              .map(({ id, errorMessage = '' }) => [id, errorMessage] as const),
          ),
        },
      ]),
  );
}

/** Number of scenarios without a failed check. */
export function passed(score: Score): number {
  return [...score.values()].filter(({ failures }) => failures.size === 0).length;
}

/** A check that fails on one side only. */
export interface Differing {
  readonly scenario: string;
  readonly check: string;
  /** Whether it fails through the gateway; otherwise it fails directly. */
  readonly failsThrough: boolean;
  readonly problem: string;
  /** The row of docs/reference/differences.md that explains it; undefined where none does. */
  readonly explanation: Difference | undefined;
}

/** @param isOfOtherEra whether the server does not speak the tested revision. */
export function differing(direct: Score, through: Score, isOfOtherEra: boolean): readonly Differing[] {
  const found: Differing[] = [];
  for (const scenario of new Set([...direct.keys(), ...through.keys()])) {
    const [before, after] = [direct.get(scenario), through.get(scenario)];
    for (const [check, problem] of after?.failures ?? [])
      // A check that was not reached directly, because an earlier one of its scenario failed, does not count.
      if (before !== undefined && !before.failures.has(check) && (before.made.has(check) || before.failures.size === 0))
        found.push({ scenario, check, failsThrough: true, problem, explanation: undefined });
    for (const [check, problem] of before?.failures ?? [])
      if (after?.failures.has(check) !== true)
        found.push({
          scenario,
          check,
          failsThrough: false,
          problem,
          explanation: explanationOfCheck(`${scenario} ${check}`, isOfOtherEra),
        });
  }
  return found;
}

/**
 * Checks that a server passes directly, and that fail at an endpoint with other servers for the reason given. At its own endpoint everything that passes
 * directly passes.
 */
export const impossibleWithOthers: readonly {
  readonly server: RegExp;
  readonly check: RegExp;
  readonly why: string;
}[] = [
  {
    server: /^Python SDK/,
    check: /^server-stateless sep-2575-(server-rejects-undeclared-capability|missing-capability-http-400)$/,
    why: 'The scenario calls `test_missing_capability`, a tool that this server answers and has in no list. Of five servers nothing tells which is meant, so the gateway refuses the name. It does not ask them in turn: the first to take the name might execute something else. At the endpoint of the server the call reaches it.',
  },
];

/** Why a check cannot pass at an endpoint of several servers; undefined where it has to. */
export function reasonWithOthers(server: string, { scenario, check, failsThrough }: Differing): string | undefined {
  return failsThrough
    ? impossibleWithOthers.find((each) => each.server.test(server) && each.check.test(`${scenario} ${check}`))?.why
    : undefined;
}
