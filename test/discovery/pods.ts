/** Servers that run in pods: the objects that are created for an `McpServer` with a command or an image, at a real API server. */
import { parseAllDocuments, parse } from 'yaml';
import { expect } from 'vitest';
import { render } from '../deploy/helm.ts';
import type { ApiServer, KubernetesObject } from '../support/api-server.ts';
import { startGateway } from '../support/gateway.ts';
import { PodAgent, type Deployment } from '../support/pod-agent.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

interface Entry {
  readonly metadata: { readonly uid: string };
  readonly status?: {
    readonly tools: number;
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

const namespace = 'docs';
const server = (name: string, spec: object): KubernetesObject & { readonly spec: object } => ({
  apiVersion: 'omnibus.dev/v1alpha1',
  kind: 'McpServer',
  metadata: { namespace, name },
  spec,
});
const kinds = {
  Deployment: 'apps/v1',
  Service: 'v1',
  ServiceAccount: 'v1',
  NetworkPolicy: 'networking.k8s.io/v1',
} as const;

/** @param helm renders the permissions and the configuration, which are those of the chart. */
export async function serversInPods(api: ApiServer, helm: string): Promise<void> {
  const settings = [
    'discovery.pods.enabled=true',
    'discovery.pods.commandImage=launchers:1',
    `discovery.namespaces={${namespace}}`,
    'discovery.secrets=true',
  ];
  const rendered = parseAllDocuments(render(helm, ...settings).output)
    .map(
      (document) => document.toJS() as (KubernetesObject & { readonly data?: Readonly<Record<string, string>> }) | null,
    )
    .filter((each) => each !== null);
  // The namespace accepts only pods with the strictest restrictions of Kubernetes.
  await api.create({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  } as KubernetesObject);
  for (const manifest of rendered)
    if (manifest.metadata.namespace === namespace && manifest.kind.startsWith('Role')) await api.create(manifest);
  const { kubeconfig, token } = await api.actAs('omnibus', 'omnibus-backend');
  // The API server applies a permission a moment after the role was created.
  await expect.poll(() => api.may(token, 'delete', 'networkpolicies', 'networking.k8s.io', { namespace })).toBe(true);
  for (const [resource, group] of [
    ['deployments', 'apps'],
    ['services', ''],
    ['serviceaccounts', ''],
    ['networkpolicies', 'networking.k8s.io'],
  ] as const) {
    for (const verb of ['get', 'create', 'patch', 'delete'])
      expect(await api.may(token, verb, resource, group, { namespace })).toBe(true);
    expect(await api.may(token, 'list', 'secrets', '', { namespace })).toBe(false);
  }
  for (const resource of ['pods', 'pods/exec', 'configmaps', 'roles'])
    expect(await api.may(token, 'create', resource, '', { namespace })).toBe(false);
  expect(await api.may(token, 'create', 'deployments', 'apps', { namespace: 'team-a' })).toBe(false);
  expect(
    await api.may((await api.actAs('omnibus', 'omnibus')).token, 'create', 'deployments', 'apps', { namespace }),
  ).toBe(false);

  await using agent = await PodAgent.start(api, namespace);
  const { discovery } = parse(
    rendered.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'omnibus')?.data?.[
      'omnibus.yaml'
    ] as string,
  ) as { readonly discovery: { readonly kubernetes: object } };
  const config = {
    discovery: {
      kubernetes: {
        ...discovery.kubernetes,
        allowedHosts: ['127.0.0.1', ...['wiki', 'other'].map((name) => agent.host(`mcp-${name}`))],
      },
    },
  };
  await using gateway = await startGateway('embedded', config, { KUBECONFIG: kubeconfig, ...agent.environment });
  using client = await RawClient.open(gateway.url);
  const of = async (kind: keyof typeof kinds, name: string): Promise<object> =>
    api.get(await api.pathOf({ apiVersion: kinds[kind], kind, metadata: { namespace, name } }, true));
  const read = async (name: string): Promise<Entry> => api.get<Entry>(await api.pathOf(server(name, {}), true));
  const reason = async (name: string, type = 'Ready'): Promise<string> =>
    (await read(name)).status?.conditions
      .filter((each) => each.type === type)
      .map((each) => `${each.status} ${each.reason} ${each.message}`)
      .join() ?? '';

  await api.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: 'wiki', labels: { 'omnibus.dev/mcp': 'true' } },
    data: { token: Buffer.from('xyz').toString('base64') },
  } as KubernetesObject);
  await api.create(
    server('wiki', {
      command: 'node',
      args: [fixturePath('stdio-server')],
      env: { GREETING: 'hello' },
      envFrom: [{ name: 'WIKI_TOKEN', secretKeyRef: { name: 'wiki', key: 'token' } }],
      sleepAfter: '3s',
    }),
  );
  await client.untilTools((names) => names.includes('echo'));
  expect((await client.callTool('echo', { a: 1 })).last.result).toEqual(text('{"a":1}'));
  expect(JSON.stringify((await client.callTool('environment')).last.result)).toMatch(
    /GREETING.*WIKI_TOKEN|WIKI_TOKEN.*GREETING/,
  );
  await expect.poll(() => reason('wiki', 'Deployed')).toBe('True Applied Deployment mcp-wiki');
  expect(agent.problems).toEqual([]);

  // The created objects belong to the server, so they are deleted with it, and its service account has no token.
  const {
    metadata: { uid },
  } = await read('wiki');
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[])
    expect(await of(kind, 'mcp-wiki')).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'McpServer', name: 'wiki', uid, controller: true }] },
    });
  expect(await of('ServiceAccount', 'mcp-wiki')).toMatchObject({ automountServiceAccountToken: false });
  const backends = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'omnibus' } },
    podSelector: {
      matchLabels: {
        'app.kubernetes.io/name': 'omnibus',
        'app.kubernetes.io/instance': 'omnibus',
        'app.kubernetes.io/component': 'backend',
      },
    },
  };
  expect(await of('NetworkPolicy', 'mcp-wiki')).toMatchObject({
    spec: {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'mcp-wiki' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [backends], ports: [{ port: 7300 }] }],
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }, { ipBlock: { cidr: '::/0' } }] },
      ],
    },
  });
  expect(await of('Service', 'mcp-wiki')).toMatchObject({
    spec: { ports: [{ port: 7300 }], selector: { 'app.kubernetes.io/name': 'mcp-wiki' } },
  });
  const {
    spec: { template },
  } = (await of('Deployment', 'mcp-wiki')) as Deployment;
  const restricted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
  expect(template.spec).toMatchObject({
    serviceAccountName: 'mcp-wiki',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    initContainers: [
      {
        image: 'omnibus:0.2.0',
        command: ['node', '/app/bin/omnibus.js', 'copy', '/omnibus'],
        securityContext: restricted,
      },
    ],
    containers: [
      {
        image: 'launchers:1',
        securityContext: restricted,
        resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } },
        readinessProbe: { httpGet: { path: '/healthz' } },
      },
    ],
  });

  // Without calls, it has no pod, and its tools are still listed. A call waits until there is a pod again.
  await expect.poll(() => reason('wiki')).toContain('True Asleep');
  await expect.poll(() => agent.pods).toEqual([]);
  expect(((await of('Deployment', 'mcp-wiki')) as Deployment).spec.replicas).toBe(0);
  expect(await client.toolNames()).toContain('echo');
  expect((await client.callTool('echo', { b: 2 })).last.result).toEqual(text('{"b":2}'));
  expect(agent.started.get('mcp-wiki')).toBe(2);

  // A lost pod is replaced, and calls go to the new one.
  agent.kill('mcp-wiki');
  await expect.poll(() => client.callTool('echo', { c: 3 }).then(({ last }) => last?.result)).toEqual(text('{"c":3}'));
  expect(agent.problems).toEqual([]);

  // An object that was created by another is not changed.
  await api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: 'mcp-taken' } });
  await api.create(server('taken', { command: 'node' }));
  await expect
    .poll(() => reason('taken', 'Deployed'))
    .toContain('False Refused there is a ServiceAccount "mcp-taken" already');
  expect(await reason('taken')).toContain('False NotDeployed');
  await expect(of('Deployment', 'mcp-taken')).rejects.toThrow('not found');

  // An image that serves HTTP itself is run as it is; and an object that the API server refuses is reported.
  await api.create(
    server('http', { image: 'example/http:1', port: 8080, resources: { limits: { memory: '1Gi' } }, sleepAfter: '0s' }),
  );
  await expect.poll(() => reason('http', 'Deployed')).toContain('True Applied');
  const http = ((await of('Deployment', 'mcp-http')) as Deployment).spec.template.spec;
  expect(http).toMatchObject({
    containers: [
      { image: 'example/http:1', ports: [{ containerPort: 8080 }], resources: { limits: { memory: '1Gi' } } },
    ],
  });
  expect([http.initContainers, http.containers[0].command]).toEqual([undefined, undefined]);
  await api.create(server('odd', { command: 'x', resources: { limits: { memory: 'much' } } }));
  await expect.poll(() => reason('odd', 'Deployed')).toContain('quantities must match');

  // The server now runs elsewhere: the created objects are deleted.
  await using upstream = await Upstream.start({ tools: [tool('elsewhere')] });
  await api.merge(server('wiki', { url: upstream.url, command: null, args: null, env: null, envFrom: null }));
  await client.untilTools((names) => names.some((name) => name.endsWith('elsewhere')));
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[])
    await expect
      .poll(() =>
        of(kind, 'mcp-wiki').then(
          () => 'there',
          (error: unknown) => String(error),
        ),
      )
      .toContain('not found');
  await expect.poll(() => reason('wiki', 'Deployed')).toBe('');
  for (const name of ['wiki', 'taken', 'http', 'odd']) await api.delete(server(name, {}));
}
