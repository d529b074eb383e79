/**
 * Makes the gateway as in its package, in `dist/program`, for tests that start it hundreds of times: one bundled file for each role loads in half the
 * time of hundreds of files in the checkout.
 */
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole, folder as page } from '../../services/console/build.mjs';
import { bundle } from './bundle.mjs';
import { copyDocuments } from './documents.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = join(root, 'dist/program');
rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'bin'), { recursive: true });
await bundle(root, join(folder, 'dist'));
for (const file of ['package.json', 'bin/omnibus.js'])
  copyFileSync(join(root, 'services/gateway', file), join(folder, file));
await buildConsole();
cpSync(page, join(folder, 'console'), { recursive: true });
copyDocuments(root, folder);
