/** What `docker compose up` is given. */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '@omnibus/config';
import { root } from '../support/processes.ts';

const folder = join(root, 'deploy/docker');

interface Compose {
  readonly services: Readonly<Record<string, { readonly volumes?: readonly string[]; readonly command?: readonly string[] }>>;
}

it('every file that compose mounts is there, and the configuration is one that Omnibus takes', async () => {
  const { services } = parse(await readFile(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
  expect(Object.keys(services)).toEqual(['nats', 'edge', 'session', 'backend', 'prometheus', 'grafana']);
  const mounts = Object.values(services).flatMap(({ volumes = [] }) => volumes).map((volume) => volume.split(':')[0] as string).filter((source) => source.startsWith('.'));
  expect(mounts.length).toBeGreaterThan(5);
  for (const source of mounts) await access(join(folder, source));
  for (const role of ['edge', 'session', 'backend']) expect(services[role]?.command).toEqual(['serve', '--config', '/etc/omnibus/omnibus.yaml', '--role', role]);
  const file = join(folder, 'config/omnibus.yaml');
  expect('problems' in loadConfig({ file, text: await readFile(file, 'utf8'), env: {}, readFile: () => '' })).toBe(false);
});
