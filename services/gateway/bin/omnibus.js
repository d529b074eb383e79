#!/usr/bin/env node
// Plain enough for a Node that is too old, so that it can say so: nothing else is loaded before that is known.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldest = engines.node.replace('>=', '');
const [major, minor] = oldest.split('.').map(Number);
const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) {
  await import('../dist/main.js');
} else {
  process.stderr.write(
    `omnibus: Node ${oldest} or later is needed; this is Node ${process.versions.node}, ${process.execPath}\n`,
  );
  process.exitCode = 78;
}
