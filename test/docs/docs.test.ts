import { execFileSync } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';
import { generateDocuments } from './generate.ts';

it('the generated documents are those of the source; `npm run docs` writes them', async () => {
  for (const [file, content] of await generateDocuments())
    expect(await readFile(join(root, file), 'utf8'), file).toBe(content);
});

it('the example configurations are good', async () => {
  const { readConfigFile } = await import('@omnibus/config');
  expect(await readConfigFile(join(root, 'deploy/examples/quickstart.yaml'), {})).toHaveProperty('config');
});

const documents = ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md'];

it.each([
  ...documents,
  'CHANGELOG.md',
  'docs/backup.md',
  'docs/kubernetes.md',
  'docs/matrix.md',
  'docs/nats.md',
  'docs/security.md',
  'docs/speed.md',
  'docs/threat-model.md',
])('every file that %s links to is there', async (document) => {
  const text = await readFile(join(root, document), 'utf8');
  for (const [, path] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g))
    await expect(
      access(join(root, dirname(document), path as string)),
      `${document}: ${path}`,
    ).resolves.toBeUndefined();
});

it.each(documents)('every source file that %s names is there', async (document) => {
  const text = await readFile(join(root, document), 'utf8');
  // A file may be named by the end of its path, and without the `src` of its package: `session/worker.ts`.
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  }).split('\n');
  const present = files.map((file) => `/${file}`).flatMap((file) => [file, file.replace('/src/', '/')]);
  const named = [...text.matchAll(/`([\w./-]+\.(?:ts|mjs|py|go|rs))`/g)].map(([, path]) => path as string);
  expect(named.filter((path) => !present.some((file) => file.endsWith(`/${path}`)))).toEqual([]);
});
