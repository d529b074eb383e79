/** Rules of this project that no linter has, each with the place where it is explained. Prints every violation, and fails when there is one. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { strayImports } from './directions.mjs';
import { long } from './lanes.mjs';
import { circlesOf } from './import-circles.mjs';
import { strayVersions } from './package/versions.mjs';
import { proseProblems } from './prose.mjs';
import { arrowsOf } from './service-arrows.mjs';

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx', '*.mjs'],
  { encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file !== '' && !file.startsWith('scripts/') && existsSync(file));

/** Services in which only the folder `dialect/` distinguishes eras; other code asks a dialect for a behaviour or a feature. */
const withDialects = ['backend', 'edge', 'session'];
const outsideDialects = new RegExp(`^services/(${withDialects.join('|')})/src/(?!dialect/|.*\\.test\\.ts$)`);

const dialects = new RegExp(`^services/(${withDialects.join('|')})/src/dialect/`);

/** `only`: files to which the rule applies; `except`: files that are exempt. */
const rules = [
  {
    pattern: /\bcreateActor\(/,
    except: /^packages\/lifecycle\/src\/actor\.ts$/,
    message: 'actors are started by startActor() only, which observes their errors',
  },
  { pattern: /@nats-io\//, except: /^packages\/bus\//, message: 'only packages/bus knows NATS' },
  {
    pattern: /'omnibus\.v1/,
    except: /^packages\/bus\/src\/(subject|nats\/bus)\.ts$/,
    message: 'subjects stand in packages/bus/src/subjects.ts',
  },
  {
    pattern: /['"](2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28)['"]/,
    except: /(^|\/)(dialect|test|testing)\/|revisions\.ts$|\.test\.ts$/,
    message: 'revisions are named in revisions.ts and dialect/ only: ask for a feature',
  },
  {
    pattern: /\b(is|speaks)(Modern|Legacy)\w*|\bera\b[^'"]*[!=]==|[!=]== '(modern|legacy)'/,
    only: outsideDialects,
    message: 'an era is asked only inside dialect/: ask the dialect for a feature',
  },
  {
    pattern: /\b(standsAlone|isOlder|hasSessions|olderLeg)\b|[rR]evision\)? [<>]=? |[!=]== \w*Revision\b/,
    except: /-under-test\.ts$/,
    only: outsideDialects,
    message: 'what the era of a client or server means is asked of mannerOf() or of a dialect, and never the era',
  },
  {
    pattern: /\bexport (async )?(function|const) (is|are|has|speaks|knows)\w*(Modern|Legacy|Older|Newer|Era)\w*/,
    only: dialects,
    message: 'a dialect tells what it does: a feature with a name, not its era',
  },
  {
    pattern: /\bfrom '[^']*\/features\//,
    only: /^services\/(session|backend)\/src\/(?!features\/|create\.ts$|.*(\.test|-under-test)\.ts$)/,
    message:
      'the spine imports no feature: it knows the interfaces in feature.ts and call/; features/index.ts has the list',
  },
  {
    pattern: /\bfrom '\.\.\/(?!guardrails\/)\w[\w-]*\//,
    only: /^services\/(session|backend)\/src\/features\/[\w-]+\/(?!.*\.test\.ts$)/,
    message: 'a feature imports no other feature, but rules the guardrails that they give to a permission',
  },
  {
    pattern: /\b(describe|it|test)\.(only|skip|todo)\b/,
    only: /\.test\.ts$/,
    message: 'no test is skipped or singled out',
  },
  {
    pattern: /\bvi\.mock\(/,
    only: /\.test\.ts$/,
    message: 'fakes speak the real protocol from outside; nothing is mocked',
  },
  {
    pattern: /setTimeout\(\s*(resolve|r|done)\b/,
    only: /\.test\.ts$/,
    message: 'tests wait for events, they do not sleep',
  },
  { pattern: /catch\s*(\([^)]*\))?\s*\{\s*\}/, message: 'an empty catch hides a fault' },
  { pattern: /@ts-(ignore|nocheck|expect-error)/, message: 'types are not switched off' },
  { pattern: /\bTODO\b(?!\(#\d+\))/, message: 'a TODO names its issue: TODO(#n)' },
];

let violations = 0;
for (const file of files) {
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const { pattern, only, except, message } of rules) {
    if ((only !== undefined && !only.test(file)) || except?.test(file)) continue;
    for (const [index, line] of lines.entries()) {
      if (!pattern.test(line)) continue;
      violations += 1;
      console.error(`${file}:${index + 1}: ${message}`);
    }
  }
}
const texts = execFileSync(
  'git',
  [
    'ls-files',
    '*.md',
    '*.ts',
    '*.tsx',
    '*.css',
    '*.html',
    '*.mjs',
    '*.yaml',
    '*.yml',
    '*.json',
    '*.py',
    '*.go',
    '*.rs',
    '*.sh',
  ],
  { encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));
for (const file of texts) {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  const problems = lines.flatMap((line, index) => [
    ...(/^(<{7}|>{7}) /.test(line) ? [`${index + 1}: two changes met here, and nobody chose`] : []),
    // Rules of `.editorconfig`, for files that no linter reads.
    ...(/[ \t\r]$/.test(line) ? [`${index + 1}: ends in a blank`] : []),
  ]);
  // The changelog and results of measurements are records.
  if (file.endsWith('.md') && !/^CHANGELOG|\/results\//.test(file)) problems.push(...proseProblems(text));
  if (text !== '' && !text.endsWith('\n')) problems.push(`${lines.length}: the last line has no end`);
  violations += problems.length;
  for (const problem of problems) console.error(`${file}:${problem}`);
}

for (const problem of strayImports(files)) {
  violations += 1;
  console.error(problem);
}
/** Bounds on the imports between the top-level parts of a service (`service-arrows.mjs`). */
const maxArrows = { session: 33, backend: 28, edge: 25 };
for (const [service, allowed] of Object.entries(maxArrows)) {
  const arrows = arrowsOf(service, files);
  if (process.argv.includes('--arrows'))
    console.log(`${service}: ${arrows.length} of ${allowed}\n  ${arrows.join('\n  ')}`);
  if (arrows.length <= allowed) continue;
  violations += 1;
  console.error(
    `services/${service}/src: ${arrows.length} arrows between its folders and files, ${allowed} are allowed (node scripts/check-rules.mjs --arrows)`,
  );
}
/** What the table of the long lane names, and no file begins with: a suite that was moved would run in no lane, or after no change. */
const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n');
for (const { files: suites, sources } of long) {
  for (const beginning of [...suites, ...sources]) {
    if (tracked.some((file) => file.startsWith(beginning))) continue;
    violations += 1;
    console.error(`scripts/lanes.mjs: no file begins with ${beginning}`);
  }
}
/** A test that leaves a part of itself to the long lane, and is not in its table, runs that part in no lane. */
const leavesPart = /\b(isLongLane|shapesOfLane|byLane|OMNIBUS_LANE)\b/;
for (const file of tracked.filter((name) => name.endsWith('.test.ts') && existsSync(name))) {
  if (!leavesPart.test(readFileSync(file, 'utf8'))) continue;
  if (long.some(({ files: suites }) => suites.some((beginning) => file.startsWith(beginning)))) continue;
  violations += 1;
  console.error(
    `${file}: it leaves a part to the long lane (isLongLane, shapesOfLane, byLane, OMNIBUS_LANE); scripts/lanes.mjs must name it`,
  );
}
for (const circle of circlesOf(files.filter((file) => /^(packages|services)\//.test(file)))) {
  violations += 1;
  console.error(`files import each other in a circle: ${circle.join(' -> ')}`);
}
/** A lock file without an entry for an optional package, such as the binary of another system, makes `npm ci` fail there. */
const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
for (const [path, { optionalDependencies = {} }] of Object.entries(locked)) {
  for (const name of Object.keys(optionalDependencies)) {
    const folders = path
      .split('/node_modules/')
      .map((_, index, all) => all.slice(0, all.length - index).join('/node_modules/'));
    if (`node_modules/${name}` in locked || folders.some((folder) => `${folder}/node_modules/${name}` in locked))
      continue;
    violations += 1;
    console.error(
      `package-lock.json has no entry for ${name}, an optional package of ${path}: npm install --package-lock-only --ignore-scripts`,
    );
  }
}
for (const place of strayVersions('.')) {
  violations += 1;
  console.error(`${place}, and package.json says another version (npm run release)`);
}
if (violations > 0) process.exit(1);
