/** Our objects and permissions at a real API server of Kubernetes, where one is available. */
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { version } from '@omnibus/protocol';
import { findHelm } from '../deploy/helm.ts';
import { ApiServer, findApiServer, type KubernetesObject } from '../support/api-server.ts';
import { startGateway } from '../support/gateway.ts';
import { root } from '../support/processes.ts';
import { serversInPods } from './pods.ts';
import { serviceAccountsAsCallers } from './service-accounts.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

interface Server {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly tools: number;
    readonly observedGeneration: number;
    readonly conditions: readonly [
      {
        readonly status: string;
        readonly reason: string;
        readonly message: string;
        readonly lastTransitionTime: string;
      },
    ];
  };
}

const server = (namespace: string, name: string, spec: object): KubernetesObject & { readonly spec: object } => ({
  apiVersion: 'omnibus.dev/v1alpha1',
  kind: 'McpServer',
  metadata: { namespace, name },
  spec,
});
const isRight = ({ kind }: KubernetesObject): boolean => /^(ServiceAccount|(Cluster)?Role(Binding)?)$/.test(kind);

/** The manifests of a file, with the namespace from the kustomization. */
async function manifests(file: string): Promise<KubernetesObject[]> {
  const documents = parseAllDocuments(await readFile(join(root, 'deploy/kubernetes', file), 'utf8')).map(
    (document) => document.toJS() as KubernetesObject,
  );
  return documents.map((manifest) => ({ ...manifest, metadata: { ...manifest.metadata, namespace: 'omnibus' } }));
}

const programs = await findApiServer();
if (programs === undefined)
  console.log(
    'There is no API server of Kubernetes here (KUBEBUILDER_ASSETS), and none is built (CI or OMNIBUS_BUILD_API_SERVER, and a Go): discovery is tried against a recorded one only.',
  );

it('the manifests ask for the rights to find servers and to write their status, and for no others', async () => {
  const roles = (await manifests('omnibus.yaml')).filter(({ kind }) => kind.endsWith('Role')) as (KubernetesObject & {
    readonly rules: object;
  })[];
  expect(roles.map(({ metadata, rules }) => [metadata.name, rules])).toEqual([
    [
      'omnibus-discovery',
      [
        { apiGroups: ['omnibus.dev'], resources: ['mcpservers', 'mcpprofiles'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
      ],
    ],
    [
      'omnibus-backend',
      [{ apiGroups: ['omnibus.dev'], resources: ['mcpservers/status', 'mcpprofiles/status'], verbs: ['patch'] }],
    ],
  ]);
});

if (programs !== undefined)
  describe('with an API server of Kubernetes', () => {
    let api: ApiServer;
    let gatewayAccount: Awaited<ReturnType<ApiServer['actAs']>>;

    beforeAll(async () => {
      api = await ApiServer.start(programs);
      for (const name of ['omnibus', 'team-a', 'team-b'])
        await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      for (const file of ['mcpserver.yaml', 'mcpprofile.yaml'])
        for (const definition of await manifests(file)) await api.create(definition);
      // The permissions are those of the chart, in the whole cluster, as with `discovery.namespaces={*}`.
      for (const manifest of (await manifests('omnibus.yaml')).filter(isRight))
        await api.create(inWholeCluster(manifest));
      gatewayAccount = await api.actAs('omnibus', 'omnibus-backend');
      // The API server serves a definition a moment after it was created.
      for (let isServed = false; !isServed;)
        isServed = await api
          .pathOf(server('team-a', 'any', {}), false)
          .then((path) => api.get(path))
          .then(
            () => true,
            () => false,
          );
    });

    afterAll(() => api[Symbol.asyncDispose]());

    async function untilStatus(ns: string, name: string, holds: (entry: Server) => boolean): Promise<Server> {
      for (;;) {
        const entry = await api.get<Server>(await api.pathOf(server(ns, name, {}), true));
        if (holds(entry)) return entry;
      }
    }

    it('every manifest is taken', async () => {
      for (const manifest of await manifests('omnibus.yaml')) if (!isRight(manifest)) await api.create(manifest, true);
    });

    it.each([
      [{}, 'give url of a server that runs already, or command or image'],
      [{ url: 'http://example.com/mcp', command: 'rm' }, 'give url of a server that runs already, or command or image'],
      [{ image: 'example/server' }, 'give command, which speaks MCP on stdin and stdout, or port'],
      [{ url: 'http://example.com/mcp', env: { A: 'b' } }, 'are for a server that is to be run'],
      [{ image: 'example/server', port: 80, args: ['x'] }, 'args are for command'],
      [{ url: 'ftp://example.com' }, 'spec.url in body should match'],
      [{ url: 'http://example.com/mcp', concurrency: 0 }, 'spec.concurrency'],
      [{ url: 'http://example.com/mcp', era: 'old' }, 'spec.era: Unsupported value'],
      [{ url: 'http://example.com/mcp', user: 'root' }, 'unknown field "spec.user"'],
    ])('an McpServer of %j is refused', async (spec, problem) => {
      await expect(api.create(server('team-a', 'wrong', spec))).rejects.toThrow(problem);
    });

    it('every field of an McpServer is explained (`kubectl explain`)', async () => {
      interface Schema {
        readonly description?: string;
        readonly properties?: Record<string, Schema>;
        readonly items?: Schema;
        readonly additionalProperties?: Schema;
      }
      const unexplained = ({ properties = {}, items, additionalProperties }: Schema, path: string): string[] => [
        ...Object.entries(properties).flatMap(([name, field]) => [
          ...(field.description === undefined ? [`${path}.${name}`] : []),
          ...unexplained(field, `${path}.${name}`),
        ]),
        ...[items, additionalProperties].flatMap((inner) =>
          inner === undefined ? [] : unexplained(inner, `${path}[]`),
        ),
      ];
      const published = (): Promise<
        { readonly components: { readonly schemas: Record<string, Schema> } } | undefined
      > => api.get<never>('/openapi/v3/apis/omnibus.dev/v1alpha1').catch(() => undefined);
      let served = await published();
      while (served === undefined) served = await published();
      const { spec } = served.components.schemas['dev.omnibus.v1alpha1.McpServer']?.properties ?? {};
      expect(spec?.properties?.['headersFrom']?.items?.properties).toHaveProperty('secretKeyRef');
      expect(unexplained(spec as Schema, 'spec')).toEqual([]);
    });

    it('the gateway may look for servers and write their status, and nothing else', async () => {
      const { token } = gatewayAccount;
      for (const verb of ['get', 'list', 'watch']) {
        expect(await api.may(token, verb, 'mcpservers', 'omnibus.dev')).toBe(true);
        expect(await api.may(token, verb, 'services')).toBe(true);
        for (const resource of ['secrets', 'configmaps', 'pods'])
          expect(await api.may(token, verb, resource)).toBe(false);
      }
      expect(await api.may(token, 'patch', 'mcpservers', 'omnibus.dev', { subresource: 'status' })).toBe(true);
      for (const verb of ['create', 'update', 'patch', 'delete']) {
        expect(await api.may(token, verb, 'mcpservers', 'omnibus.dev')).toBe(false);
        expect(await api.may(token, verb, 'services')).toBe(false);
      }
    });

    const helm = findHelm();
    if (helm !== undefined)
      it(
        'a release is installed, upgraded with its definition, rolled when a secret changes, and taken away without what teams made',
        { timeout: 180_000 },
        () => lifeOfARelease(api, helm),
      );

    if (helm !== undefined)
      it(
        'a server with a command runs in a pod of its own, restricted, for as long as somebody calls it',
        { timeout: 180_000 },
        () => serversInPods(api, helm),
      );

    if (helm !== undefined)
      it(
        'what README.md and docs/how-to/kubernetes.md say to install, upgrade and apply is taken',
        { timeout: 180_000 },
        () => documented(api, helm),
      );

    it('service accounts are callers: the cluster says whether their tokens are good, and which groups they are of', () =>
      serviceAccountsAsCallers(api));

    it('servers come, change and go, also after the API server was gone; their status says what became of them', async () => {
      await using one = await Upstream.start({ tools: [tool('one')], onCall: (call) => call.answer(text('one')) });
      await using two = await Upstream.start({ tools: [tool('two'), tool('more')] });
      await using gateway = await startGateway(
        'embedded',
        { discovery: { kubernetes: { enabled: true, namespaces: ['*'], allowedHosts: ['127.0.0.1'] } } },
        { KUBECONFIG: gatewayAccount.kubeconfig },
      );
      using client = await RawClient.open(gateway.url);

      await api.create(server('team-a', 'first', { url: one.url }));
      await client.untilTools((names) => names.includes('one'));
      expect((await client.callTool('one')).last.result).toEqual(text('one'));
      const up = await untilStatus('team-a', 'first', ({ status }) => status?.conditions[0].status === 'True');
      expect(up.status).toMatchObject({
        tools: 1,
        observedGeneration: 1,
        conditions: [{ reason: 'Connected', message: 'its tools are offered as team-a_first__*' }],
      });

      // With another address it is another server; the time of its readiness stays the same.
      await api.merge(server('team-a', 'first', { url: two.url }));
      const changed = await untilStatus(
        'team-a',
        'first',
        ({ status }) => status?.observedGeneration === 2 && status.tools === 2,
      );
      expect(changed.metadata.generation).toBe(2);
      if (changed.status?.conditions[0].status === 'True') await client.untilTools((names) => names.includes('more'));

      // No server listens at this address.
      await api.create(server('team-b', 'nowhere', { url: 'http://127.0.0.1:1/mcp' }));
      const down = await untilStatus(
        'team-b',
        'nowhere',
        ({ status }) =>
          status?.conditions[0].reason === 'Unreachable' && status.conditions[0].message.includes('cannot connect'),
      );
      expect(down.status?.conditions[0].status).toBe('False');

      // A server and a Service with the same name: the server takes precedence.
      const labels = { 'omnibus.dev/mcp': 'true' };
      const service = {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: 'team-a', name: 'first', labels },
        spec: { ports: [{ port: 8080 }], selector: { app: 'first' } },
      };
      await api.create(service);
      await gateway.edge.line(/the name \\"team-a_first\\" is taken, by McpServer team-a\/first/);

      await api.kill();
      await api.resume();
      await api.create(server('team-b', 'late', { url: one.url }));
      await client.untilTools((names) => names.includes('team-b_late__one'));
      await api.delete(server('team-b', 'late', {}));
      await client.untilTools((names) => !names.includes('team-b_late__one'));
    });
  });

/** Installs, upgrades and removes the chart with Helm, and checks which objects stay and which are replaced. */
async function lifeOfARelease(api: ApiServer, helm: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-release-'));
  const KUBECONFIG = await api.administrator();
  const run = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8', env: { ...process.env, KUBECONFIG } });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  const pack = (chart: string): string =>
    /saved it to: (.+)$/m.exec(run('package', chart, '--destination', folder))?.[1] as string;
  const of = async <Entry extends object>(apiVersion: string, kind: string, name: string): Promise<Entry> =>
    api.get<Entry>(await api.pathOf({ apiVersion, kind, metadata: { namespace: 'releases', name } }, true));
  const secrets = async (): Promise<object[]> =>
    Promise.all(
      ['mine-nats-users', 'mine-nats-tls', 'mine-omnibus-sealing-key', 'mine-omnibus-api-keys'].map(
        async (name) => (await of<{ readonly data: object }>('v1', 'Secret', name)).data,
      ),
    );
  const digest = async (role: string): Promise<string> =>
    (
      await of<{
        readonly spec: {
          readonly template: { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } };
        };
      }>('apps/v1', 'Deployment', `mine-omnibus-${role}`)
    ).spec.template.metadata.annotations['checksum/secrets'] as string;
  const definitionOf = (plural: string) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.omnibus.dev` },
  });
  const definition = definitionOf('mcpservers');

  // The definition exists already, from a chart that had it under crds/: docs/how-to/kubernetes.md describes that case.
  const archive = pack(join(root, 'deploy/helm/omnibus'));
  expect(() => run('install', 'mine', archive, '--namespace', 'releases', '--create-namespace')).toThrow(
    'invalid ownership metadata',
  );
  for (const each of [definition, definitionOf('mcpprofiles')])
    await api.merge({
      ...each,
      metadata: {
        ...each.metadata,
        labels: { 'app.kubernetes.io/managed-by': 'Helm' },
        annotations: { 'meta.helm.sh/release-name': 'mine', 'meta.helm.sh/release-namespace': 'releases' },
      },
    } as KubernetesObject);
  run('install', 'mine', archive, '--namespace', 'releases', '--create-namespace');
  const made = await secrets();

  // Generated Secrets stay the same, and the definition is upgraded with the chart.
  const changed = join(folder, 'omnibus');
  await cp(join(root, 'deploy/helm/omnibus'), changed, { recursive: true });
  const file = join(changed, 'files/mcpserver.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('shortNames: [mcp]', 'shortNames: [mcp, mcps]'));
  await writeFile(
    join(changed, 'Chart.yaml'),
    (await readFile(join(changed, 'Chart.yaml'), 'utf8')).replace(
      `version: ${version}\nappVersion`,
      'version: 9.9.9\nappVersion',
    ),
  );
  run('upgrade', 'mine', pack(changed), '--namespace', 'releases');
  expect(await secrets()).toEqual(made);
  const { spec } = await api.get<{ readonly spec: { readonly names: object } }>(await api.pathOf(definition, true));
  expect(spec.names).toMatchObject({ shortNames: ['mcp', 'mcps'] });

  // A changed password restarts the pods that use it, at the next upgrade.
  const before = await digest('session');
  expect(before).not.toBe(await digest('backend'));
  run('upgrade', 'mine', archive, '--namespace', 'releases');
  expect(await digest('session')).toBe(before);
  await api.merge({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'releases', name: 'mine-nats-users' },
    data: { session: Buffer.from('another').toString('base64') },
  } as KubernetesObject);
  run('upgrade', 'mine', archive, '--namespace', 'releases');
  expect(await digest('session')).not.toBe(before);

  run('uninstall', 'mine', '--namespace', 'releases');
  await api.get(await api.pathOf(definition, true));
  await rm(folder, { recursive: true });
}

/**
 * The commands and objects of the documents, except for names of places: other tests use the namespace, and the definitions belong to another release.
 */
async function documented(api: ApiServer, helm: string): Promise<void> {
  const [readme, page] = (await Promise.all(
    ['README.md', 'docs/how-to/kubernetes.md'].map((file) => readFile(join(root, file), 'utf8')),
  )) as [string, string];
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-documented-'));
  const KUBECONFIG = await api.administrator();
  const values = /^cat > values\.yaml <<'END'\n([\s\S]*?)\nEND$/m.exec(readme)?.[1] as string;
  await writeFile(join(folder, 'values.yaml'), values);
  const { stdout } = spawnSync(helm, ['package', join(root, 'deploy/helm/omnibus'), '--destination', folder], {
    encoding: 'utf8',
  });
  const archive = /saved it to: (.+)$/m.exec(stdout)?.[1] as string;
  const run = (line: string, ...more: readonly string[]): void => {
    const words = line
      .split(' ')
      .slice(1)
      .map((word) =>
        word === 'deploy/helm/omnibus'
          ? join(root, word)
          : word.replace('omnibus-X.Y.Z.tgz', archive).replace('values.yaml', join(folder, 'values.yaml')),
      );
    const at = words.indexOf('--namespace') + 1;
    const { status, stderr } = spawnSync(
      helm,
      [...words.with(at, 'documented'), '--set', 'crds.install=false', ...more],
      { encoding: 'utf8', env: { ...process.env, KUBECONFIG } },
    );
    expect({ line, status, stderr: status === 0 ? '' : stderr }).toEqual({ line, status: 0, stderr: '' });
  };
  run(/^helm install .+$/m.exec(readme)?.[0] as string, '--create-namespace');
  run(/`(helm upgrade [^`]+)`/.exec(page)?.[1] as string);
  const { data } = await api.get<{ readonly data: Readonly<Record<string, string>> }>(
    '/api/v1/namespaces/documented/configmaps/omnibus',
  );
  expect(data['omnibus.yaml']).toContain('https://example.com/mcp');

  const objects = [...page.matchAll(/^```\n(apiVersion: omnibus\.dev[\s\S]*?)^```$/gm)].map(
    ([, text]) => parse(text as string) as KubernetesObject,
  );
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'McpServer wiki',
    'McpServer files',
    'McpProfile readers',
  ]);
  for (const object of objects)
    await api.create({ ...object, metadata: { ...object.metadata, namespace: 'documented' } }, true);
  await rm(folder, { recursive: true });
}

/** The form of a permission in the chart when all namespaces are watched. */
function inWholeCluster(manifest: KubernetesObject): KubernetesObject {
  const { kind, metadata } = manifest;
  if (!kind.startsWith('Role')) return manifest;
  const { namespace: _namespace, ...named } = metadata ?? {};
  const { roleRef } = manifest as { readonly roleRef?: object };
  return {
    ...manifest,
    kind: `Cluster${kind}`,
    metadata: named,
    ...(roleRef === undefined ? {} : { roleRef: { ...roleRef, kind: 'ClusterRole' } }),
  } as KubernetesObject;
}
