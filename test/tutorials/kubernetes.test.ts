import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { findHelm } from '../deploy/helm.ts';
import { check, read } from '../deploy/manifests.ts';
import { runPage } from './page.ts';

const works = (command: string, ...args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

const helm = findHelm();
const charts = {
  links: ['deploy'],
  path: helm === undefined ? [] : [dirname(helm)],
  leftOut: helm === undefined ? { helm: 'there is no Helm, and no Go to build it' } : {},
};

it.each(['load-balancers', 'openshift', 'gitops', 'external-secrets', 'timeouts'])(
  'docs/how-to/%s.md shows what its values and commands do',
  (page) => runPage(`how-to/${page}`, charts),
  180_000,
);

it('the manifests, alerts and errors of docs/tutorials/3-kubernetes.md are as it shows them, and with an engine its cluster answers a call', async () => {
  const engine = works('docker', 'info') && works('kind', 'version') && works('kubectl', 'version', '--client');
  await runPage('tutorials/3-kubernetes', {
    ...charts,
    links: ['deploy', 'package.json', 'scripts', 'node_modules', 'packages', 'services', '.git', 'dist'],
    leftOut: { ...charts.leftOut, ...(engine ? {} : { engine: 'there is no Docker engine, or no kind' }) },
    after: async (folder) => {
      if (helm === undefined) return;
      const manifests = read(await readFile(join(folder, 'manifests.yaml'), 'utf8'));
      await check(manifests);
      const kinds = manifests.map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'ServiceMonitor', 'PrometheusRule', 'ConfigMap']));
    },
  });
}, 1_800_000);
