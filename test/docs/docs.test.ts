import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';
import { processExample, sections } from './config-examples.ts';
import { generateDocuments } from './generate.ts';

it('the generated documents are those of the source; `npm run docs` writes them', async () => {
  for (const [file, content] of await generateDocuments())
    expect(await readFile(join(root, file), 'utf8'), file).toBe(content);
});

it('the example configurations are good', async () => {
  const { readConfigFile } = await import('@omnibus/config');
  expect(await readConfigFile(join(root, 'deploy/examples/quickstart.yaml'), {})).toHaveProperty('config');
});

it('the chart takes the options of clients that a server in the configuration may have without effect', async () => {
  const { ignoredServerKeys, readConfigFile } = await import('@omnibus/config');
  const servers = {
    a: { url: 'http://127.0.0.1:1/mcp', ...Object.fromEntries(ignoredServerKeys.map((key) => [key, {}])) },
  };
  const file = join(await mkdtemp(join(tmpdir(), 'omnibus-docs-')), 'omnibus.json');
  await writeFile(file, JSON.stringify({ mcpServers: servers }));
  const read = await readConfigFile(file, {});
  await rm(dirname(file), { recursive: true });
  expect(read).toHaveProperty('config');
  const values = JSON.parse(await readFile(join(root, 'deploy/helm/omnibus/values.schema.json'), 'utf8')) as {
    readonly properties: {
      readonly config: { readonly properties: { readonly mcpServers: { readonly additionalProperties: object } } };
    };
  };
  expect(values.properties.config.properties.mcpServers.additionalProperties).toMatchObject({
    properties: Object.fromEntries(ignoredServerKeys.map((key) => [key, true])),
    additionalProperties: false,
  });
});

it.each(Object.entries({ process: { example: processExample }, ...sections }))(
  'the example of the section %s of docs/reference/config.md is a good configuration',
  async (_, { example }) => {
    const { loadConfig } = await import('@omnibus/config');
    const text = /^mcpServers:/m.test(example) ? example : `${example}\nmcpServers: {}\n`;
    const env = { SEARCH_TOKEN: 'secret' };
    expect(loadConfig({ file: 'omnibus.yaml', text, env, readFile: () => '' })).not.toHaveProperty('problems');
  },
);

/** Pages of a folder, and of the folders in it if `options` says so. */
const pages = (folder: string, options: { readonly recursive?: boolean } = {}): readonly string[] =>
  readdirSync(join(root, folder), { encoding: 'utf8', ...options })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
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

/** Text without code, which shows links and headings that are none. */
const withoutCode = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```$/gm, '');

/** The anchors of the headings of a page, as GitHub and VitePress make them. */
const anchorsOf = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );

it.each([...new Set([...documents, 'CHANGELOG.md', ...pages('docs', { recursive: true })])])(
  'every file and heading that %s links to is there',
  async (document) => {
    const text = withoutCode(await readFile(join(root, document), 'utf8')).replaceAll(/`[^`\n]*`/g, '');
    for (const [, path = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const target = path === '' ? document : join(dirname(document), path);
      await expect(access(join(root, target)), `${document}: ${path}`).resolves.toBeUndefined();
      if (anchor !== undefined && target.endsWith('.md'))
        expect(anchorsOf(await readFile(join(root, target), 'utf8')), `${document}: ${path}`).toContain(anchor);
    }
  },
);

it('every document that source, deployment and scripts name is there', () => {
  const tracked = (...patterns: readonly string[]): readonly string[] =>
    execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
      cwd: root,
      encoding: 'utf8',
    })
      .split('\n')
      .filter((file) => file !== '' && existsSync(join(root, file)));
  const readers = tracked('packages', 'services', 'deploy', 'scripts', 'test', '.github', '*.md').filter(
    (file) => /\.(?:tsx?|mjs|ya?ml|md|tpl)$/.test(file) && !/^CHANGELOG|\/fixtures\//.test(file),
  );
  const missing = readers.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/(?<![\w./])docs\/[\w/.-]+\.(?:md|json|png)/g)]
      .map(([path]) => path)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
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

/** The image has Node and the gateway, and neither a shell nor another program. */
it('every command that a document runs in a container of the gateway is a program of Node that can be parsed', () => {
  const texts = [...documents, ...pages('docs', { recursive: true }), 'deploy/docker/compose.yaml'].map((file) =>
    readFileSync(join(root, file), 'utf8').replaceAll('\n# ', ' '),
  );
  const commands = texts.flatMap((text) => [
    ...text.matchAll(/(?:kubectl [^`\n]*?exec [^`\n]*?-- |(?:compose|docker) exec (?:-\S+ )*\S+ )([^`\n]+)/g),
  ]);
  expect(commands.length).toBeGreaterThanOrEqual(4);
  for (const [command, run = ''] of commands) {
    expect(run, command).toMatch(/^node (-e "[^"]+"|\/app\/bin\/omnibus\.js )/);
    const [, script] = /^node -e "([^"]+)"/.exec(run) ?? [];
    if (script !== undefined) expect(() => new Script(script), command).not.toThrow();
  }
});
