/**
 * Makes the gateway as in its package, in `dist/program`: one bundled file for each role loads in half the time of hundreds of files. Tests start it hundreds
 * of times, and `npm start` in a clone runs it, since a bundler is smaller and faster than a compiler. With `--if-changed` only where a source is newer.
 */
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole, folder as page } from '../../services/console/build.mjs';
import { bundle } from './bundle.mjs';
import { copyDocuments } from './documents.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = join(root, 'dist/program');
/** What `npm run build` compiles; without a compiler it leads to the bundle, so that `npx omnibus` works in a clone. */
const compiled = join(root, 'services/gateway/dist/main.js');
const isForClone = process.argv.includes('--if-changed');
if (!isForClone || hasChanged()) await make();
if (isForClone && !existsSync(compiled)) {
  mkdirSync(dirname(compiled), { recursive: true });
  writeFileSync(compiled, "import '../../../dist/program/dist/main.js';\n");
}

async function make() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'bin'), { recursive: true });
  await bundle(root, join(folder, 'dist'), {
    mayLack: isForClone,
    // Tests run gateways in their own process too.
    ...(isForClone ? {} : { more: { 'serve-here': 'services/gateway/src/serve-here.ts' } }),
  });
  for (const file of ['package.json', 'bin/omnibus.js'])
    copyFileSync(join(root, 'services/gateway', file), join(folder, file));
  await buildConsole();
  cpSync(page, join(folder, 'console'), { recursive: true });
  copyDocuments(root, folder);
}

function hasChanged() {
  const made = join(folder, 'console', 'index.html');
  if (!existsSync(made)) return true;
  const { mtimeMs } = statSync(made);
  const sources = globSync(['{packages,services}/*/{src/**/*.*,package.json,*.mjs,*.html}', 'package-lock.json'], {
    cwd: root,
  });
  return sources.some((file) => statSync(join(root, file)).mtimeMs > mtimeMs);
}
