/**
 * What packages, charts and images say of their origin. Everything derives from one field, `repository` in `package.json` of the root: the address of the
 * repository in a browser. While it is empty, OMNIBUS_REPOSITORY stands for it, as in a workflow of a fork.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns the address without a slash at its end; undefined while there is none. @throws {Error} for what is no https address. */
export function repositoryOf(root) {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const address = (repository || process.env.OMNIBUS_REPOSITORY || '').replace(/(\.git)?\/*$/, '');
  if (address === '') return undefined;
  if (!address.startsWith('https://')) throw new Error(`repository: expected an https:// address, not ${address}`);
  return address;
}

/** The fields of a package of npm. Registries prove the origin of a package by `repository`. */
export function packageMetadata(root) {
  const address = repositoryOf(root);
  if (address === undefined) return {};
  return {
    homepage: `${address}#readme`,
    repository: { type: 'git', url: `git+${address}.git` },
    bugs: { url: `${address}/issues` },
  };
}

/** Completes a copy of the chart: where it is from, and where alerts find their runbooks. */
export function completeChart(root, chart, version) {
  const address = repositoryOf(root);
  if (address === undefined) return;
  const manifest = join(chart, 'Chart.yaml');
  writeFileSync(manifest, `${readFileSync(manifest, 'utf8')}home: ${address}\nsources: [${address}]\n`);
  const values = join(chart, 'values.yaml');
  const runbooks = `${address}/blob/v${version}/docs/runbooks`;
  writeFileSync(values, readFileSync(values, 'utf8').replace(/^  runbooks: ""$/m, `  runbooks: ${runbooks}`));
}
