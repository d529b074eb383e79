import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
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

/** Pages of a folder. */
const pages = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** Pages for developers; they name source files. */
const documents = [
  'ARCHITECTURE.md',
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...pages('docs/internals'),
  ...pages('docs/decisions'),
];

it.each([...documents, 'CHANGELOG.md', ...pages('docs'), ...pages('docs/runbooks')])(
  'every file that %s links to is there',
  async (document) => {
    const text = await readFile(join(root, document), 'utf8');
    // Code shows links that are none.
    for (const [, path] of text.replaceAll(/```[^]*?```|`[^`\n]*`/g, '').matchAll(/\]\((?!https?:)([^)#]+)\)/g))
      await expect(
        access(join(root, dirname(document), path as string)),
        `${document}: ${path}`,
      ).resolves.toBeUndefined();
  },
);

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
