/**
 * The tasks behind `npm start`, `npm test`, `npm run check` and others. Plain JavaScript for Node 20 and later without dependencies: it installs the
 * dependencies, among them Node 24, and runs everything else with that. `npm start` takes Node 24 only where the Node of the machine is too old.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { countsOf } from './counts.mjs';
import { startDockerEngine } from './docker-engine.mjs';
import { isInstalled, packagesIn } from './installed.mjs';
import { runInteractive as runProgram } from './interactive.mjs';
import { changedSince, long, longOf } from './lanes.mjs';
import { repeatedly } from './flaky.mjs';
import { installed, installedBrowser, provide } from './programs.mjs';
import { logOf, timesOf, tookLine, whereFile, writeTimes } from './where.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = join(root, 'node_modules', '.bin');
/** Node 24 for `npm start`, where the machine's Node is too old for the gateway. */
const ownNode = join(root, '.node');
/** npm's own record of what it has installed. */
const installedRecord = join(root, 'node_modules', '.package-lock.json');
const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
const env = {
  ...process.env,
  PATH: [bin, join(ownNode, 'node_modules', nodePackage, 'bin'), process.env.PATH].join(delimiter),
  TURBO_TELEMETRY_DISABLED: '1',
};
const [task, ...rest] = process.argv.slice(2);
/** Options of npm. */
const quietly = ['--no-audit', '--no-fund', '--loglevel=error'];
/** Where vitest writes the results of a run. */
const reportFile = join(root, 'node_modules', '.vitest-report.json');

/**
 * For the compiler and for the linter with types, which are written in Go: collecting their garbage only near a limit of memory saves a fifth of their processor time. At the
 * limit it is collected as often as needed.
 */
const collectingLess = { GOGC: 'off', GOMEMLIMIT: '2500MiB' };
/**
 * The compiler builds several projects at once, so more checkers of one project than this only check the same twice: each checks for itself what its files import. Four, which
 * is the compiler's own number, take half again as much processor time as one.
 */
const checkers = String(Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2))));
/** The programs that bundle the gateway, and the servers of tests. */
const bundling = [
  ['node', ['scripts/package/program.mjs']],
  ['node', ['scripts/package/fixtures.mjs']],
];
/** Folders with TypeScript and JavaScript of the project. */
const sources = ['packages', 'services', 'deploy', 'test', 'scripts'];

/** Test files of `npm test -- NAME` for areas whose name alone would match other files too. */
const areas = {
  package: ['test/package/'],
  upgrade: ['test/upgrade/'],
  nats: ['packages/bus/src/nats/', 'test/nats/'],
  chart: ['test/deploy/kubernetes.', 'test/deploy/chart.'],
  image: ['test/deploy/image.'],
  release: ['test/package/release.'],
};

/** Test files of `npm test -- quick`: all unit tests, the documents, and the system tests that find most faults of calls in a short time. */
const quickTests = [
  'packages/',
  'services/',
  'test/docs/',
  'test/e2e/calls.',
  'test/e2e/catalog.',
  'test/e2e/json-rpc.',
  'test/e2e/listen.',
  'test/outside/edge-http.',
];

const tasks = {
  async start() {
    await installToRun();
    buildToRun();
    const config = rest.some((argument) => /^(-c|--config)/.test(argument))
      ? []
      : ['--config', 'deploy/examples/quickstart.yaml'];
    process.exitCode = await runInteractive('node', ['services/gateway/bin/omnibus.js', 'serve', ...config, ...rest]);
  },
  async check() {
    install();
    await check();
    run(
      'vitest',
      rest.length > 0 ? ['run', '--project', 'unit', ...rest] : ['run', 'packages/', 'services/', 'test/docs/'],
    );
  },
  format() {
    install();
    run('oxfmt', rest.length > 0 ? rest : sources);
  },
  /** The gate: every test but those of the long lane. With names of files or areas, these alone. */
  async test() {
    const log = namedLog();
    if (log !== undefined) return writeTimesOf(log);
    if (option('--where')) env.OMNIBUS_WHERE = join(root, 'node_modules', '.where');
    if (rest[0] === 'quick') {
      install();
      provide('nats-server', 'nats-server');
      await checkAndBundle();
      return test([...quickTests, '--maxWorkers=2', ...rest.slice(1)]);
    }
    if (Object.hasOwn(areas, rest[0] ?? '')) rest.splice(0, 1, ...areas[rest[0]]);
    if (namesNothing()) env.OMNIBUS_LANE = 'gate';
    const testsMs = await whole(rest);
    if (rest.length === 0 && process.exitCode === 0) sayTimes(testsMs);
  },
  /** Everything that takes long, in full; or what is named, in full. */
  async long() {
    env.OMNIBUS_LANE = 'long';
    await whole(rest.length > 0 ? rest : long.flatMap(({ files }) => files));
  },
  /** What a change may have broken: its unit tests, and the long suites of the parts that it touches. */
  async touched() {
    const [base = 'origin/main'] = rest;
    const changed = changedSince(base);
    const suites = longOf(changed);
    console.error(`omnibus: ${changed.length} files differ from ${base}; long suites: ${suites.join(', ') || 'none'}`);
    install();
    build();
    run('vitest', ['run', '--project', 'unit', '--changed', base, '--passWithNoTests']);
    if (suites.length === 0) return;
    env.OMNIBUS_LANE = 'long';
    provideTestPrograms();
    bundle();
    await tested(suites);
  },
  /** Runs the gate several times beside a load and prints what failed at least once. */
  async flaky() {
    const runs = Number(option('--runs', true) ?? 5);
    const load = Number(option('--load', true) ?? 4);
    const log = option('--log', true);
    install();
    provideTestPrograms();
    build();
    bundle();
    if (namesNothing()) env.OMNIBUS_LANE = 'gate';
    const once = async () => {
      await test(rest);
      return process.exitCode;
    };
    process.exitCode = await repeatedly({ runs, load, report: reportFile, log, run: once });
  },
  build() {
    install();
    build();
  },
  chaos() {
    env.OMNIBUS_LANE = 'long';
    install();
    build();
    provide('nats-server', 'nats-server');
    run('vitest', ['run', 'test/chaos', ...rest]);
  },
  fuzz() {
    env.OMNIBUS_LANE = 'long';
    env.OMNIBUS_FUZZ_SEED = option('--seed', true) ?? env.OMNIBUS_FUZZ_SEED ?? String(Date.now() % 1e9);
    env.OMNIBUS_FUZZ_SECONDS = option('--seconds', true) ?? env.OMNIBUS_FUZZ_SECONDS ?? '60';
    // A number of client messages, and of requests to hostile servers, instead of a time.
    const count = option('--count', true);
    if (count !== undefined) env.OMNIBUS_FUZZ_COUNT = count;
    install();
    build();
    provide('nats-server', 'nats-server');
    run('vitest', ['run', 'test/fuzz', ...rest]);
  },
  bench() {
    const [withoutNats, withNats] = [
      ['search', 'openapi', 'tokens', 'flow', 'workers'],
      ['faults', 'scripts', 'sizes'],
    ];
    const isOwn = [...withoutNats, ...withNats].includes(rest[0]);
    const unknown = isOwn ? [] : rest.filter((word) => !/^(quick|rivals|callers|tap|\d+x\d+)$/.test(word));
    if (unknown.length > 0) {
      const first = [...withoutNats, ...withNats].join(', ');
      console.error(
        `omnibus: npm run bench does not know ${unknown.join(' ')}; it takes quick, rivals, callers, tap and SERVERSxTOOLS, or first one of ${first}`,
      );
      process.exit(64);
    }
    install();
    build();
    if (!withoutNats.includes(rest[0])) provide('nats-server', 'nats-server');
    run('node', isOwn ? [`test/dist/bench/${rest[0]}.js`, ...rest.slice(1)] : ['test/dist/bench/main.js', ...rest]);
  },
  /** Runs after an installation by npm, so that `npx omnibus` works from then on. */
  prepare() {
    buildToRun();
  },
  package() {
    install();
    run('node', ['scripts/package/pack.mjs', ...rest]);
  },
  publish() {
    install();
    run('node', ['scripts/package/publish.mjs', ...rest]);
  },
  release() {
    install();
    run('node', ['scripts/package/release.mjs', ...rest]);
  },
  pictures() {
    install();
    build();
    provide('nats-server', 'nats-server');
    if (!installedBrowser()) provide('chromium', 'chromium');
    run('node', ['test/dist/console/pictures.js']);
  },
  /** Walks the paths of somebody who has never used this, and times each step. */
  stranger() {
    install();
    build();
    run('node', ['test/dist/stranger/main.js', ...rest]);
  },
  docs() {
    install();
    build();
    run('node', ['test/dist/docs/write.js']);
  },
  /** Builds the site of the documents into `docs/.vitepress/dist`; a dead link fails. Its generator is installed here alone. */
  site() {
    const folder = join(root, 'docs', '.vitepress');
    const marker = join(folder, 'node_modules', '.package-lock.json');
    if (!existsSync(marker) || statSync(marker).mtimeMs < statSync(join(folder, 'package-lock.json')).mtimeMs)
      run('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error']);
    run('node', [join(folder, 'node_modules/vitepress/bin/vitepress.js'), 'build', 'docs']);
  },
};

if (!Object.hasOwn(tasks, task)) {
  console.error(`usage: node scripts/run.mjs ${Object.keys(tasks).join('|')}`);
  process.exit(64);
}
await tasks[task]();

/** Whether the arguments are options of the test runner alone, such as `--maxWorkers=4`, and no files. */
function namesNothing() {
  return rest.every((argument) => argument.startsWith('--') && argument.includes('='));
}

/** Takes an option out of the arguments. @returns its value, or whether it is there when it has none */
function option(name, hasValue = false) {
  const at = rest.indexOf(name);
  if (at === -1) return undefined;
  const taken = rest.splice(at, hasValue ? 2 : 1);
  return hasValue ? taken[1] : true;
}

/** Whether the dependencies of tests are installed too. */
function hasTestTools() {
  return existsSync(join(root, 'node_modules', 'vitest', 'package.json'));
}

/** Whether npm has installed what the lock file names; without the tools of tests, those for development may be missing. */
function isWhole() {
  const installed = packagesIn(installedRecord);
  return (
    installed !== undefined &&
    isInstalled(packagesIn(join(root, 'package-lock.json')) ?? {}, installed, !hasTestTools())
  );
}

/** The words for npm that install what the lock file names. `ci` empties node_modules first, which is needed once; later only what differs is replaced. */
function npmInstall() {
  return [...(existsSync(installedRecord) ? ['install', '--no-save'] : ['ci', '--prefer-offline']), ...quietly];
}

/** Installs all dependencies where some are missing or others than those of the lock file. */
function install() {
  if (isWhole() && hasTestTools()) return;
  console.error('omnibus: installing dependencies (a minute or so the first time)');
  run('npm', npmInstall());
}

/**
 * Installs what the gateway needs to be bundled and run: no compiler, no tools of tests, and no client of Kubernetes, AWS or tracing, unless the
 * configuration names one of these. Where everything is installed, it stays.
 */
async function installToRun() {
  if (hasTestTools() || namesLargeParts()) return install();
  const { devDependencies } = manifestOf('.');
  const wanted = [];
  if (!isWhole()) wanted.push([...npmInstall(), '--omit=dev', '--ignore-scripts']);
  if (!isRecent() && !existsSync(join(ownNode, 'node_modules', nodePackage)))
    wanted.push(['install', '--no-save', '--prefix', ownNode, ...quietly, `${nodePackage}@${devDependencies.node}`]);
  if (wanted.length === 0) return;
  console.error('omnibus: installing what the gateway needs (half a minute or so the first time)');
  const ends = await Promise.all(wanted.map((words) => runInteractive('npm', words)));
  const failed = ends.find((end) => end !== 0);
  if (failed !== undefined) process.exit(failed);
}

/** Whether the configuration of `npm start -- --config FILE` may need a part that `npm start` does not install. */
function namesLargeParts() {
  const at = rest.findIndex((argument) => /^(-c|--config)/.test(argument));
  if (at === -1) return false;
  const file = rest[at].includes('=') ? rest[at].slice(rest[at].indexOf('=') + 1) : rest[at + 1];
  return file !== undefined && existsSync(file) && /\b(kubernetes|tracing|aws)\b/.test(readFileSync(file, 'utf8'));
}

/** Whether this Node is new enough to run the gateway. */
function isRecent() {
  const [major, minor] = manifestOf('services/gateway').engines.node.replace('>=', '').split('.').map(Number);
  const [own, ownMinor] = process.versions.node.split('.').map(Number);
  return own > major || (own === major && ownMinor >= minor);
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

function build() {
  run('tsc', ['-b', '--checkers', checkers], collectingLess);
  run('node', ['services/console/build.mjs']);
}

/** Compiles and checks where the compiler is installed. Elsewhere the gateway is bundled when a source is newer than its bundle. */
function buildToRun() {
  if (hasTestTools()) return build();
  run('node', ['scripts/package/program.mjs', '--if-changed']);
}

/**
 * Checks types, lint with layout, dead code, and rules of the project, the direction of imports among them. What a single processor does runs beside the linter, which
 * leaves a part of the processors idle.
 * @param beside more that may run at the same time, one after the other
 */
async function check(beside = []) {
  build();
  run('oxfmt', ['--check', ...sources]);
  const linted = runInteractive('oxlint', ['--type-aware', '--deny-warnings', ...sources], collectingLess);
  const rest = [['knip', ['--no-progress']], ['node', ['scripts/check-rules.mjs']], ...beside];
  const others = rest.reduce(
    async (ended, [command, args]) => (await ended) || runInteractive(command, args),
    Promise.resolve(0),
  );
  const failed = (await Promise.all([linted, others])).find((status) => status !== 0);
  if (failed !== undefined) process.exit(failed);
}

/** Checks, then bundles the gateway, since tests start it in the form in which people install it. */
async function checkAndBundle() {
  await check(bundling);
  useBundles();
}

/** Bundles what was built, and the servers of tests, and has tests start these. */
function bundle() {
  for (const [command, args] of bundling) run(command, args);
  useBundles();
}

function useBundles() {
  env.OMNIBUS_PROGRAM = join(root, 'dist/program/bin/omnibus.js');
  env.OMNIBUS_FIXTURES = join(root, 'dist/fixtures');
}

/** Checks, and runs tests. @returns milliseconds of the tests */
async function whole(files) {
  install();
  provideTestPrograms();
  await checkAndBundle();
  return tested(files);
}

/** Runs tests with everything that they can use: programs of the system, and in CI a Docker engine. @returns milliseconds of the tests */
async function tested(files) {
  // Developers start their own engine. In CI the long lane starts one where possible.
  const engine =
    process.env.CI !== undefined && env.OMNIBUS_LANE === 'long' ? await startDockerEngine(installed) : undefined;
  Object.assign(env, engine?.env);
  try {
    return await test(files);
  } finally {
    await engine?.stop();
  }
}

/** Runs tests, with the exit status of this process. @returns milliseconds that they took */
async function test(files) {
  const testsBegan = performance.now();
  rmSync(reportFile, { force: true });
  const status = await runInteractive('vitest', [
    'run',
    '--reporter=default',
    '--reporter=./scripts/test-progress.mjs',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
    ...files,
  ]);
  const testsMs = performance.now() - testsBegan;
  process.exitCode = status;
  if (!existsSync(reportFile)) {
    process.exitCode ||= 1;
    console.error('omnibus: the test runner ended without results');
    return testsMs;
  }
  const { passed, failed, skipped } = countsOf(JSON.parse(readFileSync(reportFile, 'utf8')), status);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return testsMs;
}

/** Says what a whole gate took that has passed, and writes it where that is wanted. @param {number} testsMs milliseconds of its tests */
function sayTimes(testsMs) {
  // `performance.now` counts from the start of this process.
  const [wholeMs, cores] = [performance.now(), availableParallelism()];
  console.log(tookLine(wholeMs, cores));
  if (env.OMNIBUS_WHERE === undefined) return;
  writeHere({ tables: readFileSync(whereFile(env.OMNIBUS_WHERE), 'utf8'), wholeMs, testsMs, cores });
}

/** The log that `npm test -- --where LOG` names; ends this process where that is no file. */
function namedLog() {
  try {
    return logOf(rest);
  } catch (error) {
    console.error(`omnibus: ${error.message}`);
    process.exit(66);
  }
}

/** Writes the times of a run of this machine, whose log is a file, without a second run. */
function writeTimesOf(log) {
  try {
    writeHere(timesOf(readFileSync(log, 'utf8')));
  } catch (error) {
    console.error(`omnibus: ${log}: ${error.message}`);
    process.exitCode = 65;
  }
}

function writeHere(times) {
  writeTimes({ file: join(root, 'CONTRIBUTING.md'), ...times });
  console.log('omnibus: these times are in CONTRIBUTING.md now');
}

/** Programs beside Node that tests use. Tests of the last three are left out without them. */
function provideTestPrograms() {
  provide('nats-server', 'nats-server');
  provide('promtool', 'prometheus');
  // Without Chromium, browsers in tests are replaced by fetches of the same pages.
  if (!installedBrowser())
    console.error('omnibus: no Chromium; what a browser does with the pages of the sign-in is left out');
  // Without bubblewrap, or where namespaces are forbidden, only the error messages of sandboxes are tested.
  if (!installed('bwrap', 'bubblewrap'))
    console.error('omnibus: no bubblewrap; what a program in a sandbox can do is left out');
  // Without these, keychains are stand-ins in unit tests alone.
  if (!installed('secret-tool', 'libsecret-tools') || !installed('gnome-keyring-daemon', 'gnome-keyring'))
    console.error('omnibus: no Secret Service; what the gateway keeps in the keychain of a desktop is left out');
}

function run(command, args, more = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, env: { ...env, ...more }, stdio: 'inherit' });
  if (error !== undefined) console.error(`omnibus: cannot run ${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs a program, beside others where several are started. @returns its exit status; 1 if it cannot run, or if a signal has ended it */
function runInteractive(command, args, more = {}) {
  return runProgram(command, args, { cwd: root, env: { ...env, ...more } });
}
