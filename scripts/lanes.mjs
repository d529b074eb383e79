/**
 * Which tests run when. `npm test` is the gate: everything that decides whether a change is right, in ten minutes. `npm run test:long` proves what takes
 * long: it runs the files below in full, and the generated suites for longer. `npm run test:touched` runs what a change may have broken.
 */

import { execFileSync } from 'node:child_process';

/**
 * The long lane. `files`: beginnings of the paths of test files. `only`: the gate leaves the files out; otherwise it runs them with fewer seeds, schedules or
 * seconds (`test/support/lane.ts`). `sources`: changes below these paths can break what the files prove. `because`: what takes the time.
 */
export const long = [
  {
    files: ['test/chaos/chaos.'],
    only: false,
    because: 'every fault strikes once and costs 1 to 20 seconds',
    sources: ['packages/bus/', 'packages/lifecycle/', 'services/session/', 'services/edge/', 'services/backend/'],
  },
  {
    files: ['services/backend/src/features/takeover/model.'],
    only: false,
    because: 'two faults are tried instead of one',
    sources: ['services/backend/src/features/takeover/', 'packages/bus/src/after-asking.ts'],
  },
  {
    files: ['test/e2e/mistakes.'],
    only: false,
    because: 'each mistake of the table goes through four commands',
    sources: ['packages/config/', 'services/cli/'],
  },
  {
    files: ['test/e2e/flow-chains.'],
    only: false,
    because: 'each chain of calls has a session of its own',
    sources: ['services/session/src/features/flow/', 'packages/policy/src/', 'services/setup/src/guarded-rules.ts'],
  },
  {
    files: ['test/e2e/takeover.'],
    only: false,
    because: 'each test replaces processes',
    sources: ['services/session/src/ownership/', 'services/backend/src/features/takeover/', 'packages/bus/'],
  },
  {
    files: ['test/console/console.'],
    only: false,
    because: 'axe looks at every view at a third width',
    sources: ['services/console/'],
  },
  {
    files: ['test/e2e/command-table.'],
    only: false,
    because: 'each command runs on a terminal too',
    sources: ['services/cli/'],
  },
  {
    files: ['test/outside/audit.'],
    only: false,
    because:
      'a backend worker ends in order, and waits ten seconds for the next owner of calls of a killed session worker',
    sources: ['services/backend/src/', 'services/session/src/ownership/', 'packages/audit/'],
  },
  {
    files: ['test/outside/public-apis.'],
    only: true,
    because: 'packages with large documents are downloaded',
    sources: ['packages/openapi/', 'services/backend/src/features/openapi/'],
  },
  {
    files: ['test/matrix/scripts.'],
    only: false,
    because: 'each feature runs in scripts of clients of every revision',
    sources: ['services/session/src/features/code/', 'services/session/src/call/'],
  },
  {
    files: ['services/session/src/features/code/bombs.'],
    only: true,
    because: 'the engine needs seconds to fill its memory',
    sources: ['services/session/src/features/code/'],
  },
  {
    files: ['test/e2e/backpressure.'],
    only: false,
    because: 'ten thousand sessions are opened',
    sources: ['packages/collections/', 'packages/lifecycle/', 'services/session/src/streams/', 'services/edge/src/'],
  },
  {
    files: ['services/session/src/features/listing/hidden.property.'],
    only: false,
    because: '100,000 combinations of rights and questions instead of 3,000',
    sources: ['packages/search/', 'packages/catalog/', 'services/session/src/features/listing/'],
  },
  {
    files: ['test/chaos/soak.'],
    only: true,
    because: 'memory is compared over minutes',
    sources: ['packages/bus/', 'packages/collections/', 'services/session/', 'services/edge/', 'services/backend/'],
  },
  {
    files: ['test/fuzz/'],
    only: false,
    because: 'a run is as good as the number of its messages',
    sources: ['packages/protocol/', 'services/edge/', 'services/backend/', 'services/authorization/'],
  },
  {
    files: ['test/isolation/isolation.'],
    only: false,
    because: 'each schedule starts clients of every kind',
    sources: ['services/session/', 'services/backend/', 'packages/credentials/'],
  },
  {
    files: ['test/upgrade/upgrade.'],
    only: true,
    because: 'each role is replaced forward and back under load',
    sources: ['packages/bus/', 'packages/protocol/'],
  },
  {
    files: [
      'test/conformance/conformance.',
      'test/console/approvals.',
      'test/console/oversight.',
      'test/cost/session-heap.',
      'test/e2e/catalog.',
      'test/e2e/circuit.',
      'test/e2e/clients.',
      'test/e2e/eras.',
      'test/e2e/everything.',
      'test/e2e/exact-numbers.',
      'test/e2e/failure.',
      'test/e2e/labels.',
      'test/e2e/lifecycle.',
      'test/e2e/listen.',
      'test/e2e/metrics.',
      'test/e2e/reconnect.',
      'test/e2e/resumption.',
      'test/e2e/rounds.',
      'test/e2e/stored-results.',
      'test/e2e/tracing.',
      'test/isolation/scenarios.',
      'test/outside/agents.',
      'test/outside/approvals.',
      'test/outside/attacks.',
      'test/outside/authorization.',
      'test/outside/bus-boundaries.',
      'test/outside/caller-headers.',
      'test/outside/calls-modern.',
      'test/outside/credentials-browser.',
      'test/outside/credentials-exchange.',
      'test/outside/credentials-users.',
      'test/outside/credentials-waits.',
      'test/outside/decisions.',
      'test/outside/definitions.',
      'test/outside/guardrails.',
      'test/outside/memory.',
      'test/outside/rights-for-a-time.',
      'test/outside/running-calls.',
      'test/outside/scim.',
      'test/outside/server-tls.',
      'test/outside/sessions-edges.',
      'test/outside/teams.',
      'test/outside/transports-stdio.',
      'test/properties/interleaving.',
    ],
    only: false,
    because: 'each test starts a gateway in both shapes; the gate runs three processes, over a bus',
    sources: ['packages/bus/src/memory/', 'services/gateway/src/'],
  },
  {
    files: ['test/conformance/known.'],
    only: false,
    because: 'the suite with credentials runs at 2025-11-25 too, with the gateway as the server',
    sources: ['packages/identity/', 'services/session/src/dialect/', 'services/edge/'],
  },
  {
    files: ['test/conformance/conformance.'],
    only: false,
    because: 'each scenario of the suites in which the gateway is the client starts two programs',
    sources: [
      'packages/protocol/',
      'services/backend/src/dialect/',
      'services/backend/src/transport/',
      'services/edge/',
    ],
  },
  {
    files: ['test/e2e/survival.'],
    only: false,
    because: 'each replaced worker is a process',
    sources: [
      'packages/bus/src/',
      'services/session/src/ownership/',
      'services/session/src/streams/',
      'services/edge/src/',
    ],
  },
  {
    files: ['test/e2e/large-results.'],
    only: false,
    because: 'each pair of rows is a large result for clients of both eras, in both shapes',
    sources: ['packages/protocol/src/wire/', 'packages/bus/src/', 'services/session/src/call/'],
  },
  {
    files: ['test/e2e/server-requests.'],
    only: false,
    because: 'a limit is waited for where the clocks of several processes cannot be turned',
    sources: ['services/session/src/', 'packages/lifecycle/'],
  },
  {
    files: ['test/e2e/restart.'],
    only: false,
    because: 'each restart starts a process; the gate kills them, and does not start the Python SDK',
    sources: ['packages/bus/src/', 'services/session/src/ownership/', 'services/session/src/streams/'],
  },
  {
    files: ['test/conformance/auth.', 'test/conformance/programs.'],
    only: false,
    because: 'each sign-in scenario starts a gateway',
    sources: [
      'packages/credentials/',
      'services/backend/src/transport/',
      'services/authorization/',
      'packages/identity/',
    ],
  },
  {
    files: ['test/direct/'],
    only: true,
    because: 'servers of other languages and published servers are built and started',
    sources: ['services/', 'packages/protocol/', 'packages/catalog/'],
  },
  {
    files: ['test/discovery/api-server.', 'test/deploy/kubernetes.'],
    only: true,
    because: 'an API server of Kubernetes is built',
    sources: ['services/kubernetes/src/', 'deploy/'],
  },
  {
    files: ['test/deploy/archive.'],
    only: true,
    because: 'nine pods of the chart are started, at an API server where there is one',
    sources: ['deploy/', 'packages/bus/src/nats/', 'services/gateway/src/', 'services/kubernetes/src/'],
  },
  {
    files: ['test/deploy/image.'],
    only: true,
    because: 'an image is built and started in a Docker engine',
    sources: ['deploy/docker/', 'scripts/package/'],
  },
  {
    files: ['test/tutorials/kubernetes.'],
    only: false,
    because: 'where an engine answers, a cluster is made',
    sources: ['deploy/', 'docs/tutorials/'],
  },
  {
    files: ['test/cost/garbage.', 'test/cost/in-flight.'],
    only: true,
    because: 'tens of thousands of calls are counted',
    sources: [
      'packages/collections/',
      'packages/lifecycle/',
      'services/session/src/',
      'services/edge/src/',
      'services/backend/src/',
    ],
  },
  {
    files: ['test/nats/'],
    only: true,
    because: 'two clusters of NATS, and backups of a whole installation',
    sources: ['packages/bus/'],
  },
  {
    files: ['test/package/package.'],
    only: false,
    because: 'an older and the oldest Node are installed',
    sources: ['services/gateway/bin/', 'services/gateway/package.json', 'scripts/package/'],
  },
  {
    files: ['test/package/clone.', 'test/package/release.'],
    only: true,
    because: 'a fresh clone is installed from the registry, and a release is made',
    sources: ['scripts/', 'package.json', 'package-lock.json'],
  },
];

/** The files that differ from a commit, those that git does not know yet included. @param {string} base a commit or branch */
export function changedSince(base) {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
  return [...git('diff', '--name-only', '--merge-base', base), ...git('ls-files', '--others', '--exclude-standard')];
}

/** The beginnings of paths of long test files that a change of these files can break. @param {readonly string[]} changed paths from the root */
export const longOf = (changed) =>
  long
    .filter(({ files, sources }) =>
      changed.some((file) => [...files, ...sources].some((beginning) => file.startsWith(beginning))),
    )
    .flatMap(({ files }) => files);

/** The causes of time that `npm test -- --where` adds up; the first that fits counts. */
export const causes = [
  ['unit tests', /^(packages|services)\//],
  ['foreign suites and servers', /^test\/(conformance|direct)\//],
  ['browsers', /^test\/console\/|-(browser|pages)\.|^test\/outside\/sign-in\./],
  ['builds, packages, charts', /^test\/(package|deploy|discovery)\//],
  ['faults, generated traffic and schedules', /^test\/(chaos|fuzz|isolation|properties|upgrade|matrix)\//],
  [
    'sign-ins, credentials, approvals',
    /^test\/outside\/(sign-in|credentials|authorization|approvals|identity|caller-headers|secret|recipes|teams)/,
  ],
  ['command line', /^test\/e2e\/command/],
  [
    'session workers, edges and networks that fail',
    /^test\/(e2e\/(survival|failure|circuit|reconnect|replicas|resumption)|outside\/sessions)/,
  ],
  ['other tests of a running gateway', /^/],
];
