/**
 * Bundles the servers of tests into `dist/fixtures`. Tests start them hundreds of times, and loading an SDK from its files takes 0.1 s of processor time more
 * than loading it from one file.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = join(root, 'dist/fixtures');
/** Programs that load a library, and nothing that finds its files from its own place. */
const servers = globSync('test/fixtures/*.ts', { cwd: root }).filter((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  return /from '@modelcontextprotocol\//.test(text) && !/from '(\.\.\/|@omnibus\/)|import\.meta/.test(text);
});

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const build = await rolldown({
  input: Object.fromEntries(servers.map((file) => [basename(file, '.ts'), join(root, file)])),
  platform: 'node',
});
await build.write({
  dir: folder,
  format: 'esm',
  keepNames: true,
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
});
await build.close();
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
