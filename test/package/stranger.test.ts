import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';
import { Steps } from '../stranger/steps.ts';

const { isInstalled } = (await import(join(root, 'scripts/installed.mjs'))) as {
  readonly isInstalled: (wanted: object, installed: object, mayMissTools: boolean) => boolean;
};

it('a step that fails ends the path, and is named', async () => {
  const steps = new Steps('package', () => undefined);
  await expect(steps.do('a step', () => Promise.reject(new Error('no room')))).rejects.toThrow(
    'package: a step: no room',
  );
});

const lock = {
  '': { version: '1.0.0' },
  'packages/own': { version: '1.0.0' },
  'node_modules/own': { resolved: 'packages/own', link: true },
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-a', resolved: 'r/a' },
  'node_modules/a-of-another-system': { version: '1.0.0', integrity: 'sha512-b', resolved: 'r/b', optional: true },
  'node_modules/tool': { version: '1.0.0', integrity: 'sha512-t', resolved: 'r/t', dev: true },
};
const { 'node_modules/a-of-another-system': _absent, ...installed } = lock;
const { 'node_modules/tool': _tool, ...withoutTools } = installed;
it.each([
  ['all of it', installed, false, true],
  ['all but tools, where they may be missing', withoutTools, true, true],
  ['all but tools, where they are needed', withoutTools, false, false],
  [
    'another version',
    { ...installed, 'node_modules/a': { ...lock['node_modules/a'], version: '1.0.1' } },
    false,
    false,
  ],
  ['another content', { ...installed, 'node_modules/a': { ...lock['node_modules/a'], integrity: 'x' } }, false, false],
  ['a package too many', { ...installed, 'node_modules/b': { version: '1.0.0' } }, true, false],
  ['nothing', {}, true, false],
] as const)(
  'npm start in a clone with %s installed: installs nothing only if that is enough',
  (_what, there, mayMissTools, is) => {
    expect(isInstalled(lock, there, mayMissTools)).toBe(is);
  },
);
