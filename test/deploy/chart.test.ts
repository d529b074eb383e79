/** The chart as a published archive, and the NATS that it contains, run with the settings of the chart. */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { permissionsOf, setUpPermissions } from '@omnibus/bus';
import { freePorts } from '@omnibus/bus/testing';
import { version } from '@omnibus/protocol';
import { omnibusProgram, root, sealing, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { before, fixtures } from '../upgrade/released.ts';
import { findHelm, openShift, plainSettings, render } from './helm.ts';

interface Container {
  readonly volumeMounts?: readonly object[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
  }[];
  readonly envFrom?: readonly object[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template: {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes?: readonly object[];
        readonly affinity?: object;
        readonly priorityClassName?: string;
      };
    };
  };
}

const helm = findHelm();
const roles = ['edge', 'session', 'backend'] as const;

function read(output: string): Manifest[] {
  return parseAllDocuments(output)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

function chart(...settings: readonly string[]): (kind: string, name: string | RegExp) => Manifest {
  const { output, problem } = render(helm as string, ...settings);
  expect(problem).toBe('');
  const manifests = read(output);
  return (kind, name) => {
    const found = manifests.find(
      ({ kind: of, metadata }) =>
        of === kind && (typeof name === 'string' ? metadata.name === name : name.test(metadata.name)),
    );
    if (found === undefined)
      throw new Error(
        `there is no ${kind} ${String(name)} among ${manifests.map((each) => `${each.kind} ${each.metadata.name}`).join(', ')}`,
      );
    return found;
  };
}

const podOf = (find: ReturnType<typeof chart>, role: string) => {
  const { spec } = find('Deployment', `omnibus-${role}`);
  if (spec === undefined) throw new Error(`omnibus-${role} has no spec`);
  return {
    ...spec.template.spec,
    annotations: spec.template.metadata.annotations ?? {},
    container: spec.template.spec.containers[0],
  };
};

if (helm !== undefined)
  describe('the chart', () => {
    it('refuses a configuration that pods would refuse to start with, and takes variables in place of values', () => {
      for (const setting of [
        'config.logLevel=debug',
        'config.mcpServer.a.url=http://x',
        'config.mcpServers.a.urls=http://x',
        'config.mcpServers.a.url=1',
        'config.limits.maxSessions=many',
        'config.listen=0.0.0.0:1',
        'serviceAccount.annotation.a=b',
      ]) {
        const { status, problem } = render(helm as string, setting);
        expect([status, problem], setting).toEqual([
          1,
          expect.stringContaining("values don't meet the specifications"),
        ]);
      }
      chart('config.mcpServers.a.url=http://x', 'config.limits.maxSessions=${SESSIONS}', 'config.timeouts.call=5s');
    });

    it('leaves the numbers of users to a platform that chooses them, and to the operator elsewhere', () => {
      const numbersOf = (...settings: readonly string[]): unknown => {
        const find = chart(...settings);
        return roles.map((role) => {
          const { securityContext } = podOf(find, role) as {
            readonly securityContext?: Readonly<Record<string, unknown>>;
          };
          expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
          return [securityContext?.['runAsUser'], securityContext?.['fsGroup']];
        });
      };
      const all = (user: number | undefined, group: number | undefined): unknown => roles.map(() => [user, group]);
      expect(numbersOf()).toEqual(all(1_000, 1_000));
      expect(numbersOf('global.podSecurityContext.runAsUser=4711')).toEqual(all(4_711, 1_000));
      expect(numbersOf('global.podSecurityContext.runAsUser=null')).toEqual(all(undefined, 1_000));
      const removed = ['runAsUser', 'runAsGroup', 'fsGroup'].map((name) => `global.podSecurityContext.${name}=null`);
      for (const settings of [['discovery.pods.enabled=true', openShift], removed]) {
        const { output } = render(helm as string, ...settings);
        expect(output).toContain('runAsNonRoot: true');
        expect(output).not.toMatch(/runAsUser:|fsGroup:|runAsGroup:/);
      }
    });

    it('leads its Ingress and its route to the path of the public address, and to the documents about it', () => {
      const pathsOf = (...settings: readonly string[]): unknown => {
        const find = chart(
          'ingress.enabled=true',
          'httpRoute.enabled=true',
          'httpRoute.parentRefs[0].name=public',
          ...settings,
        );
        const ingress = find('Ingress', 'omnibus').spec as unknown as {
          readonly rules: readonly [{ readonly http: { readonly paths: readonly { readonly path: string }[] } }];
        };
        const route = find('HTTPRoute', 'omnibus').spec as unknown as {
          readonly rules: readonly [{ readonly matches: readonly { readonly path: { readonly value: string } }[] }];
        };
        const paths = ingress.rules[0].http.paths.map(({ path }) => path);
        expect(route.rules[0].matches.map(({ path }) => path.value)).toEqual(paths);
        return paths;
      };
      expect(pathsOf()).toEqual(['/']);
      expect(pathsOf('config.publicUrl=https://mcp.example.com/')).toEqual(['/']);
      expect(pathsOf('config.publicUrl=https://example.com/team/')).toEqual([
        '/team',
        '/.well-known/oauth-protected-resource/team',
        '/.well-known/oauth-authorization-server/team',
        '/.well-known/openid-configuration/team',
      ]);
    });

    it('links each alert to its runbook where runbooks can be read, and names the file elsewhere', () => {
      const annotations = (...settings: readonly string[]): readonly Readonly<Record<string, string>>[] => {
        const { spec } = chart(
          ...plainSettings,
          'monitoring.operator=true',
          ...settings,
        )('PrometheusRule', 'omnibus') as unknown as {
          readonly spec: {
            readonly groups: readonly [
              { readonly rules: readonly { readonly annotations: Readonly<Record<string, string>> }[] },
            ];
          };
        };
        return spec.groups[0].rules.map((rule) => rule.annotations);
      };
      const named = annotations();
      expect(named.filter(({ runbook }) => runbook?.startsWith('docs/runbooks/') !== true)).toEqual([]);
      expect(
        annotations('monitoring.runbooks=https://docs.example/runbooks/').map(({ runbook, runbook_url: url }) => [
          runbook,
          url,
        ]),
      ).toEqual(
        named.map(({ runbook }) => [undefined, runbook?.replace('docs/runbooks/', 'https://docs.example/runbooks/')]),
      );
    });

    it('is one archive with the version of the gateway, which renders what the folder renders', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'omnibus-chart-'));
      const { status, stderr } = spawnSync(
        helm,
        ['package', join(root, 'deploy/helm/omnibus'), '--destination', folder],
        { encoding: 'utf8' },
      );
      expect({ status, stderr }).toMatchObject({ status: 0 });
      const archive = join(folder, `omnibus-${version}.tgz`);
      const { stdout } = spawnSync(helm, ['show', 'chart', archive], { encoding: 'utf8' });
      expect(parse(stdout)).toMatchObject({
        name: 'omnibus',
        version,
        appVersion: version,
        dependencies: [{ name: 'nats', version }],
      });
      const settings = [
        'template',
        'omnibus',
        archive,
        '--namespace',
        'omnibus',
        '--kube-version',
        '1.31.0',
        '--set',
        'apiKeys.existingSecret=a',
        '--set',
        'sealingKey.existingSecret=b',
        '--set',
        'nats.users.existingSecret=c',
        '--set',
        'nats.tls.existingSecret=d',
      ];
      const of = (path: string): string => spawnSync(helm, settings.with(2, path), { encoding: 'utf8' }).stdout;
      expect(of(archive)).toBe(of(join(root, 'deploy/helm/omnibus')));
      expect(of(archive)).toContain('kind: CustomResourceDefinition');
      await rm(folder, { recursive: true });
    });

    it('takes every value of the version before, which an upgrade gives it again', () => {
      const { status, problem } = render(helm, `--values=${join(fixtures, `values-${before}.yaml`)}`, ...plainSettings);
      expect({ status, problem }).toEqual({ status: 0, problem: '' });
    });

    it('gives secrets of servers to backends alone', () => {
      const find = chart('envFrom[0].secretRef.name=credentials', 'edge.envFrom[0].secretRef.name=introspection');
      expect(roles.map((role) => podOf(find, role).container.envFrom)).toEqual([
        [{ secretRef: { name: 'introspection' } }],
        undefined,
        [{ secretRef: { name: 'credentials' } }],
      ]);
    });

    it('gives the digests of API keys to every role with an admin port where somebody administers it by a key, and else to edges alone', () => {
      const mounts = (find: ReturnType<typeof chart>): readonly boolean[] =>
        roles.map((role) => {
          const { container, volumes } = podOf(find, role);
          const isMounted = JSON.stringify(container).includes('/etc/omnibus-keys"');
          expect(JSON.stringify(volumes ?? []).includes('"items":[{"key":"keys.yaml","path":"keys.yaml"}]')).toBe(
            isMounted,
          );
          return isMounted;
        });
      expect(mounts(chart())).toEqual([true, false, false]);
      const administered = chart('config.auth.admin.roles.admin[0]=key:first');
      expect(mounts(administered)).toEqual([true, true, true]);
      const configuration = parse(administered('ConfigMap', 'omnibus').data?.['omnibus.yaml'] as string) as object;
      expect(configuration).toMatchObject({
        auth: { keys: { file: '/etc/omnibus-keys/keys.yaml' }, admin: { roles: { admin: ['key:first'] } } },
      });
      administered('Secret', 'omnibus-api-keys');
      expect(
        mounts(chart('config.auth.keys.file=/own/keys.yaml', 'config.auth.admin.roles.admin[0]=key:first')),
      ).toEqual([false, false, false]);
    });

    it('takes environment, volumes, affinity, resources and annotations for each role', () => {
      const find = chart(
        'env[0].name=TZ',
        'env[0].value=UTC',
        'backend.env[0].name=ONLY',
        'backend.env[0].value=here',
        'backend.volumes[0].name=data',
        'backend.volumes[0].emptyDir.medium=Memory',
        'backend.volumeMounts[0].name=data',
        'backend.volumeMounts[0].mountPath=/data',
        'session.affinity.nodeAffinity.x=y',
        'affinity.podAffinity.x=y',
        'edge.podAnnotations.team=web',
        'edge.priorityClassName=high',
        'session.resources.limits.memory=3Gi',
      );
      const [edge, session, backend] = roles.map((role) => podOf(find, role)) as [
        ReturnType<typeof podOf>,
        ReturnType<typeof podOf>,
        ReturnType<typeof podOf>,
      ];
      for (const { container } of [edge, session, backend])
        expect(container.env).toContainEqual({ name: 'TZ', value: 'UTC' });
      expect(backend.container).toMatchObject({
        env: expect.arrayContaining([{ name: 'ONLY', value: 'here' }]) as unknown,
        volumeMounts: expect.arrayContaining([{ name: 'data', mountPath: '/data' }]) as unknown,
      });
      expect(backend.volumes).toContainEqual({ name: 'data', emptyDir: { medium: 'Memory' } });
      expect(edge.container.env).not.toContainEqual({ name: 'ONLY', value: 'here' });
      expect([edge.affinity, session.affinity]).toEqual([{ podAffinity: { x: 'y' } }, { nodeAffinity: { x: 'y' } }]);
      expect([edge.annotations['team'], session.annotations['team'], edge.priorityClassName]).toEqual([
        'web',
        undefined,
        'high',
      ]);
      expect(session.container).toMatchObject({ resources: { limits: { memory: '3Gi' } } });
      for (const { annotations } of [edge, session, backend])
        expect(annotations['checksum/secrets']).toMatch(/^[0-9a-f]{64}$/);
    });

    it('is called what the operator wants, its NATS too', () => {
      const find = chart('fullnameOverride=gateway', 'nats.fullnameOverride=bus');
      for (const role of roles) find('Deployment', `gateway-${role}`);
      find('StatefulSet', 'bus');
      find('Secret', 'bus-users');
      const { env = [] } = find('Deployment', 'gateway-edge').spec?.template.spec.containers[0] as Container;
      expect(env.find(({ name }) => name === 'OMNIBUS_BUS')?.value).toBe('tls://edge:$(NATS_PASSWORD)@bus:4222');
      chart('nameOverride=mcp')('Deployment', 'omnibus-mcp-edge');
    });

    it('tells the gateway and its NATS where they are: prefix, domain and region', () => {
      const find = chart('nats.prefix=team', 'nats.domain=hub', 'nats.region=eu');
      expect(parse(find('ConfigMap', 'omnibus').data?.['omnibus.yaml'] as string)).toMatchObject({
        nats: { prefix: 'team', domain: 'hub', region: 'eu', tls: { caFile: '/etc/omnibus-nats/ca.crt' } },
      });
      const { 'users.conf': users = '', 'nats.conf': nats = '' } = find('ConfigMap', 'omnibus-nats').data ?? {};
      const wanted = [
        ...roles.map((role) => permissionsOf(role, { prefix: 'team' })),
        setUpPermissions({ prefix: 'team' }),
      ].flatMap((permissions) => Object.values(permissions).flat());
      expect(new Set([...users.matchAll(/"([^"]+)"/g)].map(([, subject]) => subject))).toEqual(new Set(wanted));
      expect(nats).toContain('domain: "hub"');
    });

    it(
      'has a NATS that takes each role as a user of its own over TLS, and nobody else',
      { timeout: 180_000 },
      async () => {
        const find = chart('nats.replicas=1', 'discovery.enabled=false');
        const folder = await mkdtemp(join(tmpdir(), 'omnibus-chart-nats-'));
        const [port, clusterPort] = (await freePorts(2)) as [number, number];
        expect(clusterPort).not.toBe(port);
        const decode = (data: Readonly<Record<string, string>> = {}): [string, string][] =>
          Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]);
        await mkdir(join(folder, 'tls'));
        for (const [name, content] of decode(find('Secret', 'omnibus-nats-tls').data))
          await writeFile(join(folder, 'tls', name), content);
        for (const [name, content] of Object.entries(find('ConfigMap', 'omnibus-nats').data ?? {})) {
          await writeFile(
            join(folder, name),
            content
              .replaceAll('/etc/nats-tls', join(folder, 'tls'))
              .replace('0.0.0.0:4222', `127.0.0.1:${port}`)
              .replace('http: 0.0.0.0:8222', '')
              .replace('/data', join(folder, 'data')),
          );
        }
        const passwords = new Map(decode(find('Secret', 'omnibus-nats-users').data));
        const passwordOf = (role: string): string => passwords.get(role) as string;
        await using stack = new AsyncDisposableStack();
        stack.defer(() => rm(folder, { recursive: true, force: true }));
        const nats = stack.use(
          startProcess('nats-server', ['--config', join(folder, 'nats.conf')], {
            POD_NAME: 'omnibus-nats-0',
            ...Object.fromEntries(
              [...passwords].map(([role, password]) => [`${role.toUpperCase()}_PASSWORD`, password]),
            ),
          }),
        );
        await nats.line(/Server is ready/);

        const upstream = stack.use(
          await Upstream.start({ tools: [tool('greet')], onCall: (call) => call.answer(text('hello')) }),
        );
        const configuration = parse(find('ConfigMap', 'omnibus').data?.['omnibus.yaml'] as string) as object;
        expect(configuration).toMatchObject({ nats: { tls: { caFile: '/etc/omnibus-nats/ca.crt' } } });
        const file = join(folder, 'omnibus.json');
        const config = {
          ...configuration,
          timeouts: {},
          nats: { tls: { caFile: join(folder, 'tls/ca.crt') } },
          log: { format: 'json' },
          mcpServers: { greeter: { url: upstream.url } },
        };
        await writeFile(file, JSON.stringify(config));
        const start = (role: string, password: string) => {
          const { env = [] } = podOf(find, role).container;
          expect(env.find(({ name }) => name === 'NATS_PASSWORD')?.valueFrom?.secretKeyRef).toEqual({
            name: 'omnibus-nats-users',
            key: role,
          });
          const address = (env.find(({ name }) => name === 'OMNIBUS_BUS')?.value as string)
            .replace('$(NATS_PASSWORD)', password)
            .replace('omnibus-nats:4222', `localhost:${port}`);
          return stack.use(
            startProcess(
              'node',
              [
                omnibusProgram,
                'serve',
                '--config',
                file,
                '--role',
                role,
                '--listen',
                '127.0.0.1:0',
                '--admin',
                '127.0.0.1:0',
              ],
              { OMNIBUS_BUS: address, ...(role === 'backend' ? {} : sealing) },
            ),
          );
        };
        const job = find('Job', /^omnibus-nats-setup-/);
        expect(job.spec?.template.spec.containers[0]).toMatchObject({
          args: ['nats', 'setup', '--config', '/etc/omnibus/omnibus.yaml'],
          env: expect.arrayContaining([
            {
              name: 'NATS_PASSWORD',
              valueFrom: { secretKeyRef: { name: 'omnibus-nats-users', key: 'setup' } },
            },
            { name: 'OMNIBUS_BUS', value: 'tls://setup:$(NATS_PASSWORD)@omnibus-nats:4222' },
          ]) as unknown,
        });
        const edge = start('edge', passwordOf('edge'));
        await edge.line(/omnibus nats setup/);
        const setUp = startProcess('node', [omnibusProgram, 'nats', 'setup', '--config', file], {
          OMNIBUS_BUS: `tls://setup:${passwordOf('setup')}@localhost:${port}`,
        });
        stack.use(setUp);
        await setUp.line(/KV_omnibus-vault: created/);
        for (const role of ['session', 'backend']) await start(role, passwordOf(role)).line(/"msg":"ready"/);
        const stranger = start('backend', passwordOf('session'));
        const [, url] = (await edge.line(/"endpoint":"([^"]+)"/)) as unknown as [string, string];
        await edge.line(/"msg":"ready"/);
        using client = await RawClient.open(url);
        await client.untilTools((names) => names.includes('greet'));
        expect((await client.callTool('greet')).last.result).toMatchObject(text('hello'));
        await stranger.line(/does not let this process in/);
      },
    );
  });
