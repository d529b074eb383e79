import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';
import { generateDocuments } from './generate.ts';

it('the generated documents are those of the source; `npm run docs` writes them', async () => {
  for (const [file, content] of await generateDocuments()) expect(await readFile(join(root, file), 'utf8'), file).toBe(content);
});

it('the example configurations are good', async () => {
  const { readConfigFile } = await import('@omnibus/config');
  expect(readConfigFile(join(root, 'deploy/examples/quickstart.yaml'), {})).toHaveProperty('config');
});

it('every file that ARCHITECTURE.md and README.md name is there', async () => {
  for (const document of ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md']) {
    const text = await readFile(join(root, document), 'utf8');
    for (const [, path] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) await expect(access(join(root, path as string)), `${document}: ${path}`).resolves.toBeUndefined();
  }
});
