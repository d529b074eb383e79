import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { opensPages } from './browser.ts';
import { desktopEnvironment } from '@omnibus/credentials';

it.each([{ CI: 'true' }, { container: 'podman' }, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }])(
  'with %j no page opens by itself, and an option says otherwise',
  (env) => {
    expect([opensPages(undefined, { DISPLAY: ':0', ...env }), opensPages(true, env)]).toEqual([false, true]);
  },
);

it('on a desktop pages open by themselves, unless an option says otherwise', () => {
  const isContainer = ['/.dockerenv', '/run/.containerenv'].some((mark) => existsSync(mark));
  expect([
    opensPages(undefined, { DISPLAY: ':0', BROWSER: 'x' }),
    opensPages(undefined, {}),
    opensPages(false, { DISPLAY: ':0' }),
  ]).toEqual([!isContainer, false, false]);
});

it('programs of the desktop get no variables but those of the desktop', () => {
  expect(
    desktopEnvironment({
      PATH: '/bin',
      DISPLAY: ':0',
      XDG_RUNTIME_DIR: '/run',
      DBUS_SESSION_BUS_ADDRESS: 'x',
      VAULT_KEY: 'secret',
      GITHUB_TOKEN: 'secret',
    }),
  ).toEqual({ PATH: '/bin', DISPLAY: ':0', XDG_RUNTIME_DIR: '/run', DBUS_SESSION_BUS_ADDRESS: 'x' });
});
