/** The program `helm`: from the PATH, otherwise built from source where Go is installed. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/processes.ts';

const source = 'helm.sh/helm/v3/cmd/helm@v3.21.4';
const cache = join(root, 'node_modules', '.cache', 'helm');
const works = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** @returns undefined where it is missing and cannot be built; the committed manifests are tested in any case. */
export function findHelm(): string | undefined {
  if (works('helm', ['version'])) return 'helm';
  const built = join(cache, 'helm');
  if (!existsSync(built) && works('go', ['version']))
    spawnSync('go', ['install', source], {
      env: { ...process.env, GOBIN: cache, GOFLAGS: '-mod=mod' },
      stdio: 'ignore',
    });
  return existsSync(built) ? built : undefined;
}

export interface Rendered {
  readonly status: number | null;
  readonly output: string;
  readonly problem: string;
}

/** The settings with which the committed manifests were rendered: they contain no secrets, and the definition of `McpServer` is a separate file. */
export const plainSettings = [
  'sealingKey.existingSecret=omnibus-sealing-key',
  'apiKeys.existingSecret=omnibus-api-keys',
  'nats.users.existingSecret=omnibus-nats-users',
  'nats.tls.existingSecret=omnibus-nats-tls',
  'crds.install=false',
] as const;

/** In place of a setting: a cluster of OpenShift. */
export const openShift = '--api-versions=security.openshift.io/v1';

/** @param settings as after `--set`. */
export function render(helm: string, ...settings: readonly string[]): Rendered {
  const { status, stdout, stderr } = spawnSync(
    helm,
    [
      'template',
      'omnibus',
      join(root, 'deploy/helm/omnibus'),
      '--namespace',
      'omnibus',
      '--kube-version',
      '1.31.0',
      ...settings.flatMap((setting) => (setting.startsWith('--') ? [setting] : ['--set', setting])),
    ],
    { encoding: 'utf8' },
  );
  return { status, output: stdout, problem: stderr };
}
