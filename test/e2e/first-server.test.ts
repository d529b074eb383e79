import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fixturePath } from '../support/processes.ts';
import { inPipe, onTerminal } from '../support/terminal.ts';

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-empty-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('serve in an empty folder asks at a terminal for a first server and serves it; elsewhere it names the two commands', async () => {
  const empty = await emptyFolder();
  const own = {
    env: {
      HOME: empty,
      XDG_CONFIG_HOME: join(empty, '.config'),
      OMNIBUS_LISTEN: '127.0.0.1:0',
      OMNIBUS_ADMIN: '127.0.0.1:0',
    },
    cwd: empty,
  };
  const piped = await inPipe(['serve'], own);
  expect(piped).toMatchObject({ status: 78, stdout: '' });
  expect(piped.stderr).toMatch(/omnibus import.*omnibus add NAME -- COMMAND/);
  const line = `node ${fixturePath('using-server')}`;
  const served = await onTerminal(
    ['serve'],
    [
      [/Empty for none:/, `${line}\r`],
      [/Its name.*\[using-server\]/, '\r'],
      [/Write this\?/, 'y\r'],
      [/✓ using-server/, '\u0003'],
    ],
    own,
  );
  expect(served.shown).toContain('there is no configuration in this folder yet');
  expect(served.status).toBe(0);
  expect(await readFile(join(empty, 'omnibus.yaml'), 'utf8')).toContain('  using-server:\n');
  expect((await onTerminal(['serve'], [[/Empty for none:/, '\r']], { ...own, cwd: await emptyFolder() })).status).toBe(
    78,
  );
});
