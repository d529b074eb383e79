/**
 * Makes the page in `dist/page`: hashed names, and beside each file what a browser takes instead, compressed once. Does nothing while the
 * sources are those it was made from. Plain JavaScript, for `npm start` in a checkout where nothing else is built yet.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
/** What a gateway serves. */
export const folder = join(here, 'dist/page');
const stampFile = join(here, 'dist/made-from.json');
/** Smaller than that, nothing is won. */
const worthCompressing = 512;

/** @returns the paths of all modules that are in the page, in whole or in part. */
export async function buildConsole() {
  const from = digestOfSources();
  const made =
    existsSync(stampFile) && existsSync(join(folder, 'index.html'))
      ? JSON.parse(readFileSync(stampFile, 'utf8'))
      : undefined;
  if (made?.from === from) return made.modules.map((path) => join(here, path));
  const { build } = await import('vite');
  const result = await build({
    root: here,
    base: './',
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'warn',
    resolve: { conditions: ['omnibus-source', 'module', 'browser', 'production'] },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: false,
      cssCodeSplit: false,
      reportCompressedSize: false,
      // The policy of the page lets nothing in that stands inside of something else.
      assetsInlineLimit: 0,
    },
  });
  const modules = result.output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => existsSync(id.split('?')[0]));
  for (const name of ['.', 'assets'].flatMap((part) =>
    readdirSync(join(folder, part), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(part, entry.name)),
  ))
    compress(join(folder, name));
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, JSON.stringify({ from, modules: modules.map((path) => relative(here, path)) }));
  return modules;
}

function compress(file) {
  const bytes = readFileSync(file);
  if (bytes.length < worthCompressing) return;
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(
    `${file}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  );
}

function digestOfSources() {
  const hash = createHash('sha256');
  for (const file of [
    'build.mjs',
    'index.html',
    'package.json',
    ...globSync('src/**/*', { cwd: here, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
      .map((entry) => relative(here, join(entry.parentPath, entry.name)))
      .toSorted(),
  ]) {
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(here, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();
