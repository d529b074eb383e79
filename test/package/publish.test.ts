/** The parts of a release: the commands, and the origins in them. No command is run here but those that make a copy of the chart. */
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../support/processes.ts';

const publish = (...words: readonly string[]) => {
  const { status, stderr } = spawnSync('node', [join(root, 'scripts/package/publish.mjs'), ...words], {
    encoding: 'utf8',
    env: { ...process.env, OMNIBUS_REPOSITORY: '' },
  });
  return { status, said: stderr };
};

it('a dry run publishes nothing to npm, and pushes and signs at a registry of this machine only', () => {
  expect(publish('--dry-run')).toMatchObject({ status: 1, said: expect.stringContaining('say where') });
  expect(publish('--dry-run', '--registry', 'ghcr.io/someone')).toMatchObject({
    status: 1,
    said: expect.stringContaining('on this machine only'),
  });
  const { status, said } = publish('--dry-run', '--plan', '--registry', 'localhost:5000');
  expect(status).toBe(0);
  const commands = said.trim().split('\n');
  expect(commands.find((each) => each.startsWith('> npm publish'))).toMatch(/--dry-run$/);
  expect(commands.find((each) => each.startsWith('> docker buildx'))).toMatch(
    /linux\/amd64,linux\/arm64 .* --tag localhost:5000\/omnibus:\S+ --sbom=true --provenance=mode=max .*--push/,
  );
  expect(commands.find((each) => each.startsWith('> helm push'))).toContain('oci://localhost:5000/charts --plain-http');
  const signed = commands.filter((each) => each.startsWith('> cosign sign'));
  expect(signed).toHaveLength(3);
  for (const each of signed) expect(each).toContain('--tlog-upload=false');
});

it('a release has provenance and is signed without a key, and is refused while no repository is named', () => {
  const { said } = publish('--plan', '--registry', 'ghcr.io/someone');
  expect(said).toMatch(/> npm publish \S+ --access public --provenance\n/);
  expect(said).toMatch(/> cosign sign --yes ghcr\.io\/someone\/omnibus@sha256:DIGEST\n/);
  expect(said).not.toMatch(/--key|--dry-run|localhost/);
  expect(publish('--registry', 'ghcr.io/someone')).toMatchObject({
    status: 1,
    said: expect.stringContaining('"repository" in package.json is empty'),
  });
});

it('package and chart say where they are from, and alerts where their runbooks are, by one field', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-metadata-'));
  const chart = join(folder, 'chart');
  await writeFile(join(folder, 'package.json'), JSON.stringify({ repository: 'https://git.example/team/omnibus.git' }));
  await cp(join(root, 'deploy/helm/omnibus'), chart, { recursive: true });
  const { completeChart, packageMetadata } = (await import(join(root, 'scripts/package/metadata.mjs'))) as {
    readonly completeChart: (root: string, chart: string, version: string) => void;
    readonly packageMetadata: (root: string) => object;
  };
  expect(packageMetadata(folder)).toEqual({
    homepage: 'https://git.example/team/omnibus#readme',
    repository: { type: 'git', url: 'git+https://git.example/team/omnibus.git' },
    bugs: { url: 'https://git.example/team/omnibus/issues' },
  });
  completeChart(folder, chart, '1.2.3');
  const read = async (file: string): Promise<unknown> => parse(await readFile(join(chart, file), 'utf8'));
  expect(await read('Chart.yaml')).toMatchObject({
    home: 'https://git.example/team/omnibus',
    sources: ['https://git.example/team/omnibus'],
  });
  expect(await read('values.yaml')).toMatchObject({
    monitoring: { runbooks: 'https://git.example/team/omnibus/blob/v1.2.3/docs/runbooks' },
  });
  await rm(folder, { recursive: true });
});
