/**
 * Publishes a release: the npm package with provenance, the image for two architectures and the chart as an OCI artifact, with bills of materials, checksums and
 * signatures. `npm run publish:release -- --registry HOST/OWNER` makes and publishes what the tag of this commit names.
 * `--dry-run` makes everything and pushes it to a registry on this machine at most: npm publishes nothing, and a key of this run signs without a log.
 * `--plan` prints the commands and runs none.
 */
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { completeChart, repositoryOf } from './metadata.mjs';
import { makePackage } from './pack.mjs';
import { versionOf } from './versions.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const dist = join(root, 'dist');
const { values: options } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    plan: { type: 'boolean', default: false },
    registry: { type: 'string' },
  },
});
const isDry = options['dry-run'];
const version = versionOf(root);
const problem = problemWith();
if (problem !== undefined) {
  console.error(`publish: ${problem}`);
  process.exit(1);
}
const { registry } = options;
const isHere = /^(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(registry);
const image = `${registry}/omnibus`;
const charts = `${registry}/charts`;
const tag = `${image}:${version}`;
const packed = join(dist, `omnibus-gateway-${version}.tgz`);
const chart = join(dist, `omnibus-${version}.tgz`);
const key = join(dist, 'cosign.key');
/** Keyless where a workflow has an identity; a key of this run, and no public log, in a dry run. */
const signing = isDry ? ['--key', key, '--tlog-upload=false'] : [];
const overHttp = isHere ? ['--allow-insecure-registry', '--allow-http-registry'] : [];

if (!options.plan) {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  await makePackage(dist);
  packChart();
}
run('npm', ['publish', packed, '--access', 'public', ...(isDry ? ['--dry-run'] : ['--provenance'])]);
run('docker', [
  'buildx',
  'build',
  '--platform',
  'linux/amd64,linux/arm64',
  '--file',
  'deploy/docker/Dockerfile',
  '--tag',
  tag,
  ...labels(),
  // The bill of materials and the origin are attached to the image.
  '--sbom=true',
  '--provenance=mode=max',
  '--metadata-file',
  join(dist, 'image.json'),
  '--push',
  dist,
]);
const pushed = run('helm', ['push', chart, `oci://${charts}`, ...(isHere ? ['--plain-http'] : [])]);
writeSums();
if (isDry) run('cosign', ['generate-key-pair', '--output-key-prefix', join(dist, 'cosign')], { COSIGN_PASSWORD: '' });
for (const signed of [
  `${image}@${digestOf(readJson('image.json')?.['containerimage.digest'])}`,
  `${charts}/omnibus@${digestOf(/Digest: (\S+)/.exec(pushed)?.[1])}`,
])
  run('cosign', ['sign', '--yes', ...signing, ...overHttp, signed], { COSIGN_PASSWORD: '' });
const sums = join(dist, 'SHA256SUMS');
run('cosign', ['sign-blob', '--yes', ...signing, '--bundle', `${sums}.sigstore.json`, sums], { COSIGN_PASSWORD: '' });
console.log(`${isDry ? 'tried' : 'published'}: ${packed}, ${tag}, oci://${charts}/omnibus ${version}`);

/** The chart from a copy that says where it is from. */
function packChart() {
  const copy = join(dist, 'chart', 'omnibus');
  cpSync(join(root, 'deploy/helm/omnibus'), copy, { recursive: true });
  completeChart(root, copy, version);
  run('helm', ['package', copy, '--destination', dist]);
  rmSync(join(dist, 'chart'), { recursive: true });
}

function labels() {
  const address = repositoryOf(root);
  return address === undefined ? [] : ['--label', `org.opencontainers.image.source=${address}`];
}

/** Checksums of what is downloaded as files, with the bill of materials of the package beside it. */
function writeSums() {
  if (options.plan) return;
  execFileSync('tar', ['-xzf', packed, '--strip-components=1', '-C', dist, 'package/sbom.cdx.json']);
  const files = readdirSync(dist).filter((file) => /\.tgz$|^sbom\./.test(file));
  const lines = files.toSorted().map((file) => {
    const sum = createHash('sha256')
      .update(readFileSync(join(dist, file)))
      .digest('hex');
    return `${sum}  ${file}\n`;
  });
  writeFileSync(join(dist, 'SHA256SUMS'), lines.join(''));
}

/** @throws {Error} where a step did not say the digest of what it pushed: nothing else may be signed. */
function digestOf(said) {
  if (options.plan) return 'sha256:DIGEST';
  if (!/^sha256:[0-9a-f]{64}$/.test(said ?? ''))
    throw new Error('a registry did not say the digest of what was pushed');
  return said;
}

function readJson(file) {
  return options.plan ? undefined : JSON.parse(readFileSync(join(dist, file), 'utf8'));
}

/** Runs a program. @returns what it prints. */
function run(command, words, env = {}) {
  console.error(`> ${[command, ...words].join(' ').replaceAll(`${root}/`, '')}`);
  if (options.plan) return '';
  const done = spawnSync(command, words, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['inherit', 'pipe', 'pipe'],
  });
  const said = `${done.stdout ?? ''}${done.stderr ?? ''}`;
  process.stderr.write(said);
  if (done.status === 0) return said;
  console.error(
    `publish: ${command} failed${done.error === undefined ? '' : `: ${done.error.message}`}; nothing after it was done`,
  );
  process.exit(1);
}

function problemWith() {
  if (options.registry === undefined)
    return 'say where: --registry ghcr.io/OWNER, or with --dry-run --registry localhost:5000';
  const isLocal = /^(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(options.registry);
  if (isDry && !isLocal) return 'a dry run pushes to a registry on this machine only: --registry localhost:5000';
  if (isDry || options.plan) return undefined;
  if (repositoryOf(root) === undefined)
    return '"repository" in package.json is empty: npm proves the origin of a package by it';
  const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  if (git('status', '--porcelain') !== '') return 'the tree is dirty: what is published is what the tag names';
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`))
    return `this commit has no tag v${version}: npm run release -- ${version}`;
  return existsSync(join(root, 'node_modules/rolldown')) ? undefined : 'what builds is not installed: npm ci';
}
