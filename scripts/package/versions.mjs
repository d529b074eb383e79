/** The places of the version number. `package.json` of the root is the source; all others are written by `npm run release`. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const number = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?`;
const pattern = (before, after = '') => new RegExp(`(${before})(${number})(?=${after})`, 'gm');

const manifest = pattern(String.raw`^  "version": "|^    "@omnibus\/[a-z-]+": "`, '"');
/** Files with a version, and the text before it. */
const places = {
  'packages/protocol/src/version.ts': pattern("version = '", "'"),
  'deploy/helm/omnibus/Chart.yaml': pattern('^version: |^appVersion: |^    version: '),
  'deploy/helm/omnibus/charts/nats/Chart.yaml': pattern('^version: '),
  'deploy/docker/Dockerfile': pattern('^ARG VERSION='),
  'deploy/docker/launchers.Dockerfile': pattern('^ARG VERSION='),
  // Rendered from the chart.
  'deploy/kubernetes/omnibus.yaml': pattern('app.kubernetes.io/version: "|image: "omnibus:', '"'),
  'docs/reference/openapi.json': pattern('^    "version": "', '"'),
  'docs/how-to/gitops.md': pattern('targetRevision: v'),
  'README.md': pattern('/omnibus:|omnibus-gateway-|/omnibus-'),
  'docs/how-to/kubernetes.md': pattern('/omnibus:'),
  'docs/how-to/install.md': pattern('/omnibus:|omnibus-gateway-|/omnibus-'),
};

/** Of the workspace, and of the generator of the site, which is installed apart. */
const locks = ['package-lock.json', 'docs/.vitepress/package-lock.json'];

function placesOf(root) {
  const manifests = execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
  return [...manifests.map((file) => [file, manifest]), ...Object.entries(places)];
}

export function versionOf(root) {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
}

/** The places with another version than `package.json`, or without one: `file: version`. */
export function strayVersions(root) {
  const wanted = versionOf(root);
  return [
    ...placesOf(root).flatMap(([file, at]) => {
      const found = [...readFileSync(join(root, file), 'utf8').matchAll(at)].map(([, , version]) => version);
      return (found.length === 0 ? ['none'] : found)
        .filter((version) => version !== wanted)
        .map((version) => `${file}: ${version}`);
    }),
    ...locks.flatMap((file) =>
      ownParts(JSON.parse(readFileSync(join(root, file), 'utf8')))
        .filter(([, { version }]) => version !== wanted)
        .map(([path, { version }]) => `${file}: ${path} ${version}`),
    ),
  ];
}

export function setVersion(root, version) {
  for (const [file, at] of placesOf(root)) {
    const path = join(root, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(at, `$1${version}`));
  }
  for (const file of locks) {
    const path = join(root, file);
    const lock = JSON.parse(readFileSync(path, 'utf8'));
    lock.version = version;
    for (const [, part] of ownParts(lock)) {
      part.version = version;
      for (const name of Object.keys(part.dependencies ?? {}))
        if (name.startsWith('@omnibus/')) part.dependencies[name] = version;
    }
    writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  }
}

function ownParts({ packages }) {
  return Object.entries(packages).filter(([path]) => !path.includes('node_modules'));
}
