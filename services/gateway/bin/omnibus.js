#!/usr/bin/env node
// Plain enough for a Node that is too old, so that it can say so: nothing else is loaded before that is known.
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldest = engines.node.replace('>=', '');
const [major, minor] = oldest.split('.').map(Number);
const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) {
  // A quarter of a start is compiling. The folder is the user's own, since compiled code from a folder of others would run here. Where it cannot be written,
  // as in the image, nothing is kept; NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE still decide.
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE ?? join(caches, 'omnibus', 'compiled'));
  // Loading a gateway's code would let V8 grow the memory for new objects, which it does not give back; under load it grows (packages/lifecycle, young-generation.ts).
  if (process.argv[2] === 'serve') setFlagsFromString('--semi-space-growth-factor=1');
  await import('../dist/main.js');
} else {
  process.stderr.write(
    `omnibus: Node ${oldest} or later is needed; this is Node ${process.versions.node}, ${process.execPath}\n`,
  );
  process.exitCode = 78;
}
