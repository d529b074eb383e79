/** Every manifest is accepted by Kubernetes, and the plain manifests are those of the chart. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '@omnibus/config';
import { root } from '../support/processes.ts';
import { findHelm, plainSettings, render } from './helm.ts';
import { check, read, validate, type Manifest } from './manifests.ts';

const plain = join(root, 'deploy/kubernetes');

/** Checks the security settings of each pod. */
function checkPods(manifests: readonly Manifest[]): void {
  const looksForServers = manifests.some(({ metadata }) => metadata.name.endsWith('-discovery'));
  for (const { kind, spec, metadata } of manifests.filter(
    (manifest) => manifest.kind === 'Deployment' || manifest.kind === 'StatefulSet',
  )) {
    const pod = (
      spec as {
        template: {
          spec: {
            securityContext: object;
            automountServiceAccountToken: boolean;
            topologySpreadConstraints: object[];
            containers: Record<string, unknown>[];
          };
        };
      }
    ).template.spec;
    expect(pod).toMatchObject({
      automountServiceAccountToken: /session|backend/.test(metadata.name) && looksForServers,
      securityContext: { runAsNonRoot: true },
    });
    expect(pod.topologySpreadConstraints.length, kind).toBeGreaterThan(0);
    for (const container of pod.containers) {
      expect(container).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      });
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe', 'resources'])
        expect(container).toHaveProperty(probe);
    }
  }
}

it('a wrong manifest is found', async () => {
  await expect(
    validate({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: { replicas: 'two' } }),
  ).rejects.toThrow('replicas');
  const misspelt = { selector: {}, template: { spec: { containers: [{ name: 'x', readynessProbe: {} }] } } };
  await expect(
    validate({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: misspelt }),
  ).rejects.toThrow('.spec.template.spec.containers.0.readynessProbe');
  await expect(validate({ apiVersion: 'apps/v1', kind: 'Nonsense', metadata: { name: 'x' } })).rejects.toThrow(
    'has no Nonsense',
  );
});

it('the plain manifests are ones that Kubernetes takes, and their configuration is one that Omnibus takes', async () => {
  const manifests = read(await readFile(join(plain, 'omnibus.yaml'), 'utf8'));
  expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
    expect.arrayContaining([
      'Deployment omnibus-edge',
      'Deployment omnibus-session',
      'Deployment omnibus-backend',
      'StatefulSet omnibus-nats',
      'Service omnibus',
      'PodDisruptionBudget omnibus-edge',
      'NetworkPolicy omnibus-session',
      'ConfigMap omnibus-overview-dashboard',
    ]),
  );
  await check(manifests);
  checkPods(manifests);
  const configuration = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'omnibus')
    ?.data?.['omnibus.yaml'] as string;
  expect('problems' in loadConfig({ file: 'omnibus.yaml', text: configuration, env: {}, readFile: () => '' })).toBe(
    false,
  );
});

it('only edges and session workers get the sealing key, only edges the digests of API keys, and no manifest holds any', async () => {
  const manifests = read(await readFile(join(plain, 'omnibus.yaml'), 'utf8'));
  expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  const given = manifests.filter(
    ({ kind, spec }) => kind === 'Deployment' && JSON.stringify(spec).includes('OMNIBUS_SEALING_KEY'),
  );
  expect(given.map(({ metadata }) => metadata.name)).toEqual(['omnibus-edge', 'omnibus-session']);
  const mounting = manifests.filter(({ spec }) =>
    JSON.stringify(spec ?? {}).includes(
      '"secretName":"omnibus-api-keys","items":[{"key":"keys.yaml","path":"keys.yaml"}]',
    ),
  );
  expect(mounting.map(({ metadata }) => metadata.name)).toEqual(['omnibus-edge']);
  for (const { spec } of given)
    expect(JSON.stringify(spec)).toContain('{"name":"OMNIBUS_KEYS_FILE","value":"/etc/omnibus-keys/keys.yaml"}');
  for (const { spec } of given)
    expect(JSON.stringify(spec)).toContain(
      '{"name":"OMNIBUS_SEALING_KEY","valueFrom":{"secretKeyRef":{"name":"omnibus-sealing-key","key":"key"}}}',
    );
});

/** What an object cannot say of its server: options of programs of the gateway's own machine, and what only the operator may decide. */
const ofOperators = [
  ...['cwd', 'envFile', 'user', 'sandbox'],
  ...['absentFacts', 'credentials', 'disabled', 'flow', 'hints', 'openapi', 'proxy', 'restart', 'tls'],
];
const ofPods = ['image', 'port', 'path', 'envFrom', 'resources', 'imagePullSecrets'];
it.each([
  ['mcpserver.yaml', 'mcpServers', ['headersFrom', ...ofPods], ofOperators],
  ['mcpprofile.yaml', 'profiles', [], ['composites']],
] as const)(
  'the resource definition of %s is one that Kubernetes takes, and asks for what the gateway reads',
  async (file, option, besides, without) => {
    const [definition] = read(await readFile(join(root, 'deploy/helm/omnibus/files', file), 'utf8')) as [Manifest];
    await check([definition]);
    const { versions } = definition.spec as unknown as {
      versions: readonly [
        {
          schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } };
          subresources: object;
          additionalPrinterColumns: readonly object[];
        },
      ];
    };
    expect(versions[0].subresources).toEqual({ status: {} });
    expect(versions[0].additionalPrinterColumns.length).toBeGreaterThan(3);
    const schema = JSON.parse(await readFile(join(root, 'docs/reference/omnibus.schema.json'), 'utf8')) as {
      properties: Record<typeof option, { additionalProperties: { properties: object } }>;
    };
    const options = Object.keys(schema.properties[option].additionalProperties.properties);
    for (const field of Object.keys(versions[0].schema.openAPIV3Schema.properties.spec.properties))
      expect([...options, ...besides]).toContain(field);
    const { properties: asked } = versions[0].schema.openAPIV3Schema.properties.spec;
    expect(options.filter((each) => !Object.hasOwn(asked, each)).toSorted()).toEqual([...without].toSorted());
    expect(await readFile(join(plain, file), 'utf8')).toBe(
      await readFile(join(root, 'deploy/helm/omnibus/files', file), 'utf8'),
    );
  },
);

it('the kustomization names files that are there', async () => {
  const { resources } = parse(await readFile(join(plain, 'kustomization.yaml'), 'utf8')) as {
    readonly resources: readonly string[];
  };
  for (const resource of resources) await check(read(await readFile(join(plain, resource), 'utf8')));
});

const helm = findHelm();

// Helm cannot be installed on every machine; where it exists, the chart itself is tested.
if (helm !== undefined)
  describe('the chart', () => {
    const chart = (...settings: string[]): Manifest[] => {
      const { status, output, problem } = render(helm as string, ...settings);
      expect(problem).toBe('');
      expect(status).toBe(0);
      return read(output);
    };

    it('renders what deploy/kubernetes holds (else: the command in CONTRIBUTING.md)', async () => {
      expect(render(helm as string, ...plainSettings).output).toBe(await readFile(join(plain, 'omnibus.yaml'), 'utf8'));
    });

    it.each([
      [
        'everything',
        [
          'edge.autoscaling.enabled=true',
          'edge.autoscaling.inFlight=100',
          'session.autoscaling.enabled=true',
          'backend.autoscaling.enabled=true',
          'ingress.enabled=true',
          'ingress.tlsSecret=tls',
          'edge.env[0].name=A',
          'edge.env[0].value=b',
          'backend.volumes[0].name=data',
          'backend.volumes[0].emptyDir.medium=Memory',
          'backend.volumeMounts[0].name=data',
          'backend.volumeMounts[0].mountPath=/data',
          'backend.priorityClassName=high',
          'monitoring.operator=true',
          'monitoring.labels.release=stack',
          'envFrom[0].secretRef.name=credentials',
        ],
        ['HorizontalPodAutoscaler omnibus-edge', 'Ingress omnibus', 'ServiceMonitor omnibus', 'PrometheusRule omnibus'],
      ],
      [
        'a NATS that exists',
        [
          'nats.enabled=false',
          'natsUrl=nats://nats.messaging:4222',
          'discovery.enabled=false',
          'networkPolicy.enabled=false',
          'monitoring.dashboards.enabled=false',
        ],
        ['Deployment omnibus-edge'],
      ],
      [
        'servers in pods of their own',
        ['discovery.pods.enabled=true', 'discovery.pods.commandImage=launchers', 'discovery.namespaces={team-a}'],
        ['Role omnibus-backend', 'RoleBinding omnibus-backend', 'ServiceAccount omnibus-backend'],
      ],
      [
        'a place on a NATS of others',
        [
          'nats.enabled=false',
          'natsUrl=tls://nats.messaging:4222',
          'nats.prefix=team',
          'nats.domain=hub',
          'nats.region=eu',
        ],
        ['Deployment omnibus-edge'],
      ],
      [
        'discovery in two namespaces',
        ['discovery.namespaces={team-a,team-b}'],
        ['Role omnibus-discovery', 'RoleBinding omnibus-discovery'],
      ],
      [
        'one NATS node',
        ['nats.replicas=1'],
        [
          'StatefulSet omnibus-nats',
          'NetworkPolicy omnibus-nats',
          'Secret omnibus-nats-users',
          'Secret omnibus-nats-tls',
        ],
      ],
      ['a NATS without TLS', ['nats.tls.enabled=false'], ['Secret omnibus-nats-users']],
      [
        'its definitions',
        [],
        [
          'CustomResourceDefinition mcpservers.omnibus.dev',
          'CustomResourceDefinition mcpprofiles.omnibus.dev',
          'ClusterRole omnibus-mcp-edit',
          'ClusterRole omnibus-mcp-view',
        ],
      ],
      ['a sealing key of its own', [], ['Secret omnibus-sealing-key']],
      ['headers from Secrets', ['discovery.secrets=true'], ['Role omnibus-backend']],
      [
        'discovery in the whole cluster',
        ['discovery.namespaces={*}'],
        ['ClusterRole omnibus-discovery', 'ClusterRoleBinding omnibus-discovery'],
      ],
    ] as const)('with %s it is what Kubernetes takes', async (_name, settings, expected) => {
      const manifests = chart(...settings);
      await check(manifests);
      checkPods(manifests);
      expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
        expect.arrayContaining([...expected]),
      );
    });

    it('makes a sealing key of 32 random bytes, another one for each installation', () => {
      const keys = [chart(), chart()].map(
        (manifests) =>
          manifests.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === 'omnibus-sealing-key')?.data?.[
            'key'
          ] as string,
      );
      for (const key of keys) expect(Buffer.from(Buffer.from(key, 'base64').toString(), 'base64').length).toBe(32);
      expect(keys[0]).not.toBe(keys[1]);
    });

    it('makes a first API key, which its edges know by its digest, and none where the configuration says how callers are known', () => {
      const { data } = chart().find(({ metadata }) => metadata.name === 'omnibus-api-keys') as Manifest;
      const [key, file] = ['key', 'keys.yaml'].map((name) =>
        Buffer.from(data?.[name] as string, 'base64').toString(),
      ) as [string, string];
      const [, id] = key.split('_');
      expect(key).toMatch(/^omk_[A-Za-z0-9]{12}_[A-Za-z0-9]{43}$/);
      expect(parse(file)).toMatchObject({ keys: [{ id, hash: hash('sha256', key), subject: 'first' }] });
      expect(
        chart('config.auth=none')
          .filter(({ kind, spec }) => kind === 'Secret' || JSON.stringify(spec ?? {}).includes('KEYS_FILE'))
          .map(({ metadata }) => metadata.name),
      ).toEqual(['omnibus-nats-users', 'omnibus-nats-tls', 'omnibus-sealing-key']);
    });

    it('has a route of the Gateway API beside the Ingress, with the streams left open', () => {
      const { spec } = chart(
        'httpRoute.enabled=true',
        'httpRoute.parentRefs[0].name=public',
        'httpRoute.hostnames={mcp.example.com}',
      ).find(({ kind }) => kind === 'HTTPRoute') as Manifest;
      expect(spec).toMatchObject({
        parentRefs: [{ name: 'public' }],
        hostnames: ['mcp.example.com'],
        rules: [{ timeouts: { request: '0s' }, backendRefs: [{ name: 'omnibus', port: 80 }] }],
      });
    });

    it.each([
      [['nats.prefix=a.b'], 'does not match pattern'],
      [['edge.replica=3'], "additional properties 'replica' not allowed"],
      [['natsUrl=http://nats'], 'natsUrl'],
      [['config.bus=memory'], 'config'],
      [['httpRoute.enabled=true'], 'httpRoute.parentRefs names the Gateway'],
      [['nats.enabled=false'], 'give natsUrl, or set nats.enabled: true'],
    ] as const)('refuses %s', (settings, problem) => {
      const { status, problem: said } = render(helm as string, ...settings);
      expect(status).not.toBe(0);
      expect(said).toContain(problem);
    });
  });
