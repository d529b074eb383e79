/**
 * Makes a release: `npm run release -- 0.3.0` sets the version in all files, adds the date to the changelog, makes a commit and a tag, and makes the
 * package, the chart and, where a Docker engine runs, the image with that version, in `dist/`. Nothing is published.
 */
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePackage } from './pack.mjs';
import { setVersion, versionOf } from './versions.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const destination = join(root, 'dist');
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const works = (command, args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

const [version = ''] = process.argv.slice(2);
const problem = problemWith(version);
if (problem !== undefined) {
  console.error(`release: ${problem}`);
  process.exit(1);
}
setVersion(root, version);
const changelog = join(root, 'CHANGELOG.md');
writeFileSync(
  changelog,
  readFileSync(changelog, 'utf8').replace(
    '\n## Unreleased\n',
    `\n## Unreleased\n\n## ${version}, ${new Date().toISOString().slice(0, 10)}\n`,
  ),
);
git('commit', '--quiet', '--all', '--message', `chore: release ${version}`);
git('tag', '--annotate', `v${version}`, '--message', `Omnibus ${version}`);

rmSync(destination, { recursive: true, force: true });
const made = [(await makePackage(destination)).archive];
const left = [];
const helm = [join(root, 'node_modules/.cache/helm/helm'), 'helm'].find((program) => works(program, ['version']));
if (helm === undefined)
  left.push('the chart: there is no helm on the PATH (helm package deploy/helm/omnibus --destination dist)');
else {
  execFileSync(helm, ['package', join(root, 'deploy/helm/omnibus'), '--destination', destination], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  made.push(join(destination, `omnibus-${version}.tgz`));
}
const image = `omnibus:${version}`;
const build = ['build', '--file', join(root, 'deploy/docker/Dockerfile'), '--tag', image, destination];
if (works('docker', ['info']) && spawnSync('docker', build, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0)
  made.push(`image ${image}`);
else
  left.push(
    `the image: no Docker engine answers, or it has not the base (docker ${build.slice(0, -1).join(' ').replaceAll(`${root}/`, '')} dist)`,
  );
const sums = readdirSync(destination)
  .filter((file) => file.endsWith('.tgz'))
  .toSorted()
  .map(
    (file) =>
      `${createHash('sha256')
        .update(readFileSync(join(destination, file)))
        .digest('hex')}  ${basename(file)}\n`,
  );
writeFileSync(join(destination, 'SHA256SUMS'), sums.join(''));
console.log(
  `release ${version} is committed and tagged here, and published nowhere. Made:\n${made.map((each) => `  ${each}`).join('\n')}\n  ${join(destination, 'SHA256SUMS')}`,
);
for (const each of left) console.log(`Not made: ${each}`);

function problemWith(wanted) {
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/.test(wanted)) return 'say which version: npm run release -- 0.3.0';
  if (git('status', '--porcelain') !== '')
    return 'the tree is dirty; commit or put away what is changed first (git status)';
  const current = versionOf(root);
  if (!isLater(wanted, current)) return `${wanted} is not later than ${current}`;
  if (git('tag', '--list', `v${wanted}`) !== '') return `there is a tag v${wanted}`;
  const unreleased = /\n## Unreleased\n([^]*?)(?=\n## |$)/.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))?.[1];
  if (unreleased === undefined || unreleased.trim() === '') return 'CHANGELOG.md says nothing under "Unreleased"';
  if (!existsSync(join(root, 'node_modules/rolldown')))
    return 'what builds is not installed: npm run release installs it';
  return undefined;
}

/** Compares versions by number; a version with a suffix precedes the one without. */
function isLater(one, other) {
  const [a, b] = [one, other].map((text) => text.split('-', 1)[0].split('.').map(Number));
  const at = a.findIndex((number, index) => number !== b[index]);
  if (at !== -1) return a[at] > b[at];
  return one !== other && other.includes('-') && (!one.includes('-') || one > other);
}
