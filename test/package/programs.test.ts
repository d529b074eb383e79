/** Programs that the tests need: installed as root on Debian with a note or after a question, and never where the user forbids it. */
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../support/processes.ts';

let folder: string;
let log: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-programs-'));
  log = join(folder, 'log');
  // A package manager that writes down its arguments, and installs nothing.
  await writeFile(join(folder, 'apt-get'), `#!/bin/sh\necho "$@" >> '${log}'\n`);
  await chmod(join(folder, 'apt-get'), 0o755);
});

afterAll(() => rm(folder, { recursive: true }));

/** Asks for a missing program, with a PATH that has the package manager only. @param what the call of `scripts/programs.mjs` */
async function ask(
  env: NodeJS.ProcessEnv,
  what = "provide('no-such-program', 'no-such-package')",
): Promise<{ code: number | null; words: string; installs: string[] }> {
  await writeFile(log, '');
  const script = `import(${JSON.stringify(pathToFileURL(join(root, 'scripts/programs.mjs')).href)}).then((programs) => programs.${what})`;
  const child = spawn(process.execPath, ['-e', script], {
    env: { PATH: folder, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (words += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const installs = (await readFile(log, 'utf8')).split('\n').filter((line) => line.startsWith('install'));
  return { code, words, installs };
}

describe('a missing program', () => {
  it('is not installed where the user forbids it, and the run ends with the command that installs it', async () => {
    const { code, words, installs } = await ask({ OMNIBUS_INSTALL: 'no' });
    expect({ code, installs }).toEqual({ code: 1, installs: [] });
    expect(words).toContain('the tests need no-such-program');
    expect(words).toContain('apt-get install no-such-package');
  });

  it.runIf(process.getuid?.() === 0)(
    'is installed as root with a note that names the package and how to forbid it',
    async () => {
      const { code, words, installs } = await ask({ CI: 'true' });
      expect(installs).toEqual(['install -y -q --no-install-recommends no-such-package']);
      expect(words).toContain(
        'installing the Debian package no-such-package as root (OMNIBUS_INSTALL=no forbids that)',
      );
      // This package manager installs nothing, so the run ends as without it.
      expect(code).toBe(1);
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'is Chromium without windows if the distribution has it, and the whole browser otherwise',
    async () => {
      const quietly = 'install -y -q --no-install-recommends';
      expect((await ask({ CI: 'true' }, 'installedBrowser()')).installs).toEqual([`${quietly} chromium`]);
      await writeFile(join(folder, 'apt-cache'), '#!/bin/sh\n');
      await chmod(join(folder, 'apt-cache'), 0o755);
      expect((await ask({ CI: 'true' }, 'installedBrowser()')).installs).toEqual([
        `${quietly} chromium-headless-shell`,
        // This package manager installs nothing.
        `${quietly} chromium`,
      ]);
    },
  );
});
