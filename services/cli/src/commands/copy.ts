import { cpSync, copyFileSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';

/** File names of the dynamic loader of glibc and musl. */
const loaderName = /^ld-(linux|musl)/;

/**
 * Copies this package, Node and the libraries that Node is linked with, so that they run in an image that has none of them, or other versions:
 * `FOLDER/loader --library-path FOLDER/lib FOLDER/node FOLDER/app/bin/omnibus.js`. Pods of servers run this before the server's own image is started.
 */
export function copyProgram(folder: string): Promise<void> {
  return runCommand(false, () => {
    copyInto(folder);
    return Promise.resolve('done');
  });
}

/** @throws {CommandProblem} */
function copyInto(folder: string): void {
  // The libraries that are loaded now are all that Node needs: it loads none later.
  const libraries = [
    ...new Set(
      readFileSync('/proc/self/maps', 'utf8')
        .split('\n')
        .flatMap((line) => /\s(\/\S+\.so(?:\.[\w.-]+)?)$/.exec(line)?.slice(1) ?? []),
    ),
  ];
  const loader = libraries.find((file) => loaderName.test(basename(file)));
  if (loader === undefined)
    throw new CommandProblem(
      'other',
      'the Node of this process is linked in a way that cannot be copied: no loader was found among what it has loaded',
    );
  const lib = join(folder, 'lib');
  mkdirSync(lib, { recursive: true });
  for (const file of libraries) copyFileSync(realpathSync(file), join(lib, basename(file)));
  copyFileSync(realpathSync(loader), join(folder, 'loader'));
  copyFileSync(realpathSync(process.execPath), join(folder, 'node'));
  cpSync(dirname(dirname(realpathSync(process.argv[1] ?? ''))), join(folder, 'app'), { recursive: true });
}
