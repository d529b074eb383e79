/** The path of a stranger with a cluster: from the archive of the chart, with one file of values, to a call of an own server. */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import type { ApiServer } from '../support/api-server.ts';
import { type Cluster, RenderedCluster } from '../support/cluster/cluster.ts';
import { StandInNode } from '../support/cluster/node.ts';
import type { Image } from '../support/cluster/pod-types.ts';
import { root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { ownServer } from './own-server.ts';
import type { Steps } from './steps.ts';

const run = promisify(execFile);
const namespace = 'omnibus';

export interface Means {
  readonly helm: string;
  /** Where the chart is installed; without one, it is rendered, and servers in Kubernetes are not looked for. */
  readonly api: ApiServer | undefined;
  readonly images: readonly Image[];
}

/**
 * The images of the chart: Node with the gateway, and NATS.
 * @param contents what the gateway's image contains, and `program` in it.
 */
export function imagesOf(contents: Image['contents'], program: string): readonly Image[] {
  return [
    {
      name: 'omnibus',
      entry: ['node', program],
      args: [],
      env: { NODE_ENV: 'production', OMNIBUS_NO_INPUT: '1' },
      contents: [[realpathSync(process.execPath), '/opt/bin/node'], ...contents],
    },
    { name: 'nats', entry: ['nats-server'], args: [], env: {}, contents: [] },
  ];
}

export async function fromChart({ helm, api, images }: Means, steps: Steps): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-chart-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const packed = await run(helm, ['package', join(root, 'deploy/helm/omnibus'), '--destination', folder]);
  const archive = /saved it to: (.+)$/m.exec(packed.stdout)?.[1] as string;
  // The one file that a stranger writes.
  const values = join(folder, 'values.yaml');
  const own = { command: 'node', args: ['--input-type=module', '--eval', ownServer] };
  const without = api === undefined ? { discovery: { enabled: false } } : {};
  await writeFile(values, stringify({ config: { mcpServers: { own } }, ...without }));
  const release = ['omnibus', archive, '--namespace', namespace, '--values', values];
  const cluster: Cluster = await (api === undefined
    ? steps.do('helm template of the archive', async () => {
        const { stdout } = await run(helm, ['template', ...release, '--kube-version', '1.31.0'], {
          maxBuffer: 2 ** 26,
        });
        return new RenderedCluster(stdout, namespace);
      })
    : steps.do('helm install of the archive', async () => {
        const KUBECONFIG = await api.administrator();
        await run(helm, ['install', ...release, '--create-namespace'], { env: { ...process.env, KUBECONFIG } });
        return api;
      }));
  const node = stack.use(await StandInNode.run(cluster, namespace, images));
  await steps.do('its pods are ready', () => node.ready());
  await steps.do('a call of the own server with the first key', async () => {
    const { data } = await cluster.get<{ readonly data: { readonly key: string } }>(
      `/api/v1/namespaces/${namespace}/secrets/omnibus-api-keys`,
    );
    const url = `http://${await node.forward('omnibus', 80)}/mcp`;
    const key = Buffer.from(data.key, 'base64').toString();
    using client = await RawClient.open(url, '2025-11-25', { authorization: `Bearer ${key}` });
    await client.untilTools((names) => names.includes('greet'));
    const answer = JSON.stringify((await client.callTool('greet', { name: 'Ada' })).last.result);
    if (!answer.includes('hello Ada')) throw new Error(`the answer was ${answer}`);
    using stranger = new RawClient(url);
    const { status } = await stranger.initialize('2025-11-25');
    if (status !== 401) throw new Error(`a client without a key was answered ${status}`);
  });
}
