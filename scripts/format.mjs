/** Corrects the layout of the given files and folders by the rules of `.oxlint-format.json`. Prints what has to be corrected by hand. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const mend = (stdio) => spawnSync(join(root, 'node_modules/.bin/oxlint'), ['-c', '.oxlint-format.json', '--fix', ...process.argv.slice(2)], { cwd: root, stdio }).status;

// Of two overlapping corrections, each run makes one: after three runs, everything that can be corrected is.
const isMended = [1, 2, 3].some(() => mend('ignore') === 0);
if (!isMended) process.exitCode = mend('inherit');
