import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { root } from '../support/processes.ts';

const run = promisify(execFile);

const untidy = `export  const one = [1,2,
   3];
export const two = {a: "b"} as const


`;

const tidy = `export const one = [1, 2, 3];
export const two = { a: 'b' } as const;
`;

const branches = (...bodies: readonly string[]): string => `export function about(method: string): string {
  switch (method) {
    case 'resources/read':${bodies[0]}
    case 'resources/subscribe':${bodies[1]}
    case 'resources/unsubscribe': return 'ended';
    default: return '';
  }
}
`;

const files = {
  untidy,
  array: "export const listed = ['tools/call', 'prompts/get', 'resources/read'];\n",
  record: "export const listed = { 'tools/call': 1, 'prompts/get': 2, 'resources/read': 3 };\n",
  type: "export type Listed = 'tools/call' | 'prompts/get' | 'resources/read';\n",
  comparisons:
    "export const isListed = (method: string): boolean => method === 'tools/call' || method === 'prompts/get' || method === 'resources/read';\n",
  branch: branches('', ''),
  dispatch: branches(" return 'read';", " return 'begun';"),
};

let folder: string;
/** The findings of the lint step of `npm run check` for these files. */
let found: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-lint-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.ts`), text);
  const { stdout } = await run(join(root, 'node_modules/.bin/oxlint'), ['--deny-warnings', '-f', 'unix', folder], {
    cwd: root,
  }).catch((error: unknown) => error as { readonly stdout: string });
  found = stdout.split('\n');
});

afterAll(() => rm(folder, { recursive: true }));

const problemsOf = (name: keyof typeof files): readonly string[] =>
  found.filter((line) => line.includes(`${name}.ts:`));

it('`npm run format` brings a file into the layout that `npm run check` demands', async () => {
  const file = join(folder, 'untidy.ts');
  const format = (...options: readonly string[]): Promise<unknown> =>
    run(join(root, 'node_modules/.bin/oxfmt'), ['-c', join(root, '.oxfmtrc.json'), ...options, file], { cwd: root });
  await expect(format('--check')).rejects.toMatchObject({ code: 1 });
  await format();
  expect(await readFile(file, 'utf8')).toBe(tidy);
  await format('--check');
});

it.each(['array', 'record', 'type', 'comparisons', 'branch'] as const)(
  'methods that are listed beside the method table fail `npm run check`: %s',
  (name) => {
    expect(problemsOf(name)).toHaveLength(1);
    expect(problemsOf(name)[0]).toContain('omnibus(one-list-of-methods)');
  },
);

it('a switch that serves each method in its own way is no list of methods', () => {
  expect(problemsOf('dispatch')).toEqual([]);
});
