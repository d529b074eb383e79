import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { long } from './scripts/lanes.mjs';

const isGate = process.env['OMNIBUS_LANE'] === 'gate';
/**
 * What fills the machine, or looks at the memory that a process takes of it: one file at a time, after the others. The gate runs them short, beside the others,
 * since a file alone leaves half of the machine idle.
 */
const alone = [
  'test/chaos/**/*.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/upgrade/upgrade.test.ts',
  'test/e2e/backpressure.test.ts',
  'test/outside/edge-bounds.test.ts',
];
/** Files that `npm test` leaves to `npm run test:long`. A file that is named on the command line runs in any case. */
const leftOut = isGate
  ? long.flatMap(({ files, only }) => (only ? files.map((beginning) => `${beginning}**`) : []))
  : [];

/**
 * The limits are far beyond what a test takes, also on a machine with ten times the load: they end what hangs, and prove nothing. That of a test is longer than that of
 * a look (`expect.poll`), which says what it has waited for.
 */
const limits = { testTimeout: 300_000, hookTimeout: 300_000 };

/**
 * Files that run one after the other in the same worker share what they import, since loading it takes more processor time than most of them. A file that leaves
 * something behind for the next one fails.
 */
const shared = {
  isolate: false,
  setupFiles: ['processor-time', 'leaves-nothing'].map((name) => join(import.meta.dirname, 'scripts', `${name}.mjs`)),
};

/**
 * Files that run at once, on two cores. All projects of the gate have the same number and one group: system tests begin while the last unit tests run. Two groups
 * would leave a core idle until the slowest unit test has ended.
 */
const maxWorkers = 5;

/** System tests that take long: they begin first, so that the run does not end with one of them alone on the machine. */
const longest = [
  'direct/direct',
  'direct/published',
  'discovery/api-server',
  'isolation/isolation',
  'e2e/survival',
  'e2e/command-line',
  'conformance/conformance',
  'chaos/chaos',
  'outside/sign-in',
  'console/console',
  'package/package',
  'outside/memory',
  'matrix/matrix',
  'outside/credentials-vault',
  'outside/credentials-users',
  'isolation/scenarios',
  'e2e/command-table',
  'e2e/commands',
  'e2e/survival-streams',
  'console/tabs',
  'console/approvals',
  'e2e/backpressure',
  'outside/secrets',
  'outside/audit',
  'fuzz/servers',
  'fuzz/clients',
  'fuzz/strangers',
  'outside/edge-bounds',
  'e2e/rounds',
  'e2e/workers',
  'e2e/replicas',
  'e2e/large-results',
  'e2e/takeover',
  'outside/credentials-browser',
  'discovery/kubernetes',
  'outside/limits-replicas',
  'outside/audit-full-disk',
  'outside/bus-junk',
  'matrix/scripts',
  'outside/sessions-questions',
  'e2e/failure',
  'outside/sessions-edges',
  'deploy/chart',
  'e2e/restart',
  'outside/affinity-tasks',
  'outside/authorization',
  'e2e/metrics',
  'conformance/known',
  'observability/alerts',
  'observability/dashboards',
  'tutorials/team-server',
  'tutorials/ten-servers',
  'tutorials/kubernetes',
  'conformance/auth',
  'outside/transports-stdio',
  'e2e/stored-results',
  'outside/rights-for-a-time',
  'e2e/server-requests',
  'cost/rules-with-claims',
  'cost/functions',
  'cost/session-heap',
  'outside/adapters-sharing',
  'outside/adapters-replicas',
  'conformance/programs',
];

/** Without results of an earlier run, files would run in the order of their sizes. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Projects run in the order in which their first files come.
    const placeOf = ({ moduleId, project }: TestSpecification): number => {
      if (project.name === 'unit') return -1;
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place === -1 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

/** `npm run check` runs the `unit` project; `npm test` runs all of them. */
export default defineConfig({
  resolve: { conditions: ['omnibus-source'] },
  ssr: { resolve: { conditions: ['omnibus-source'], externalConditions: ['omnibus-source'] } },
  test: {
    // Hundreds of processes load the same modules: Node compiles each once, which is a third of what a start costs.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') },
    // How long something may take that comes about by itself. A machine that stalls for ten seconds fails no test; only a failing test waits so long.
    // Most of the looks read the metrics of every process of a gateway, which takes the processor from what is waited for.
    expect: { poll: { timeout: 120_000, interval: 100 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        // They wait for sockets and short timers most of their time.
        test: {
          ...limits,
          ...shared,
          name: 'unit',
          include: ['{packages,services}/**/src/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...leftOut],
          maxWorkers,
        },
      },
      {
        extends: true,
        // Processes start and time limits pass most of their time, so several files are run at once.
        test: {
          ...limits,
          ...shared,
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: isGate ? leftOut : alone,
          maxWorkers,
        },
      },
      ...(isGate
        ? []
        : [
            {
              extends: true as const,
              test: {
                ...limits,
                name: 'alone',
                include: alone,
                fileParallelism: false,
                sequence: { groupOrder: 1 },
              },
            },
          ]),
    ],
  },
});
