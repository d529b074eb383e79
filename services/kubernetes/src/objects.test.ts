/** The parsed spec of an `McpServer` with a pod. */
import { expect, it } from 'vitest';
import { readObject, type Read } from './objects.ts';
import type { ServerObject } from './server-object.ts';
import { podObjects, type PodSettings } from './pod-objects.ts';

const pods: PodSettings = {
  image: 'omnibus:1',
  commandImage: 'launchers:1',
  user: 1_000,
  imagePullSecrets: ['ours'],
  resources: { limits: { memory: '1Gi' } },
  from: [],
  egress: [{}],
};
const object = (spec: object, name = 'wiki'): ServerObject => ({
  kind: 'McpServer',
  namespace: 'docs',
  name,
  uid: 'u',
  generation: 1,
  spec: spec as ServerObject['spec'],
  annotations: {},
  createdAt: '',
  status: undefined,
});
const read = (given: ServerObject, secret = 'xyz', settings: PodSettings | undefined = pods): Read =>
  readObject(given, { allowedHosts: [], pods: settings, secret: () => ({ value: secret }) });
const problemOf = (result: Read): string => ('problem' in result ? result.problem : '');
const envFrom = [{ name: 'TOKEN', secretKeyRef: { name: 'wiki', key: 'token' } }];

it('its address is that of its Service, and it is waited for, and left alone after a while', () => {
  expect(read(object({ command: 'npx', args: ['wiki'] }))).toMatchObject({
    server: 'docs_wiki',
    config: {
      url: 'ws://mcp-wiki.docs.svc:7300/',
      isStarted: true,
      sleepAfter: 600_000,
      connectTimeout: 60_000,
      maxConnections: 16,
    },
    pod: { name: 'mcp-wiki', image: 'launchers:1', command: ['npx', 'wiki'], sleepMs: 600_000 },
  });
  expect(
    read(object({ image: 'a', port: 80, path: '/x', sleepAfter: '1m', isolation: 'shared' }, 'v1.wiki')),
  ).toMatchObject({
    server: 'docs_v1-wiki',
    config: { url: 'http://mcp-v1-wiki.docs.svc:80/x', sleepAfter: 60_000, isolation: 'shared' },
  });
  expect(read(object({ url: 'http://wiki.docs.svc/mcp' }))).not.toHaveProperty('pod');
});

it('a Secret of its environment is named in its pod and never copied there, and another value of it is another pod', () => {
  const made = (secret: string): string => {
    const result = read(object({ command: 'x', envFrom }), secret);
    return 'pod' in result && result.pod !== undefined
      ? JSON.stringify(podObjects(object({}), result.pod, pods))
      : problemOf(result);
  };
  expect(made('first')).toContain('"name":"TOKEN","valueFrom":{"secretKeyRef":{"name":"wiki","key":"token"}}');
  expect(made('first')).not.toContain('first');
  expect(made('first')).toBe(made('first'));
  expect(made('second')).not.toBe(made('first'));
});

it.each<[object, PodSettings | undefined, string]>([
  [{ command: 'x' }, undefined, 'this gateway has no pods made'],
  [{ command: 'x', url: 'http://a.example' }, pods, 'does not go with spec.command'],
  [{ command: 'x' }, { ...pods, commandImage: undefined }, 'spec.image is missing'],
  [{ image: 'x' }, pods, 'spec.command is missing'],
  [{ command: 'x', sleepAfter: 'soon' }, pods, 'spec.sleepAfter'],
  [{}, pods, 'spec.url is missing'],
])('%j is refused, in words', (spec, settings, problem) => {
  expect(problemOf(readObject(object(spec), { allowedHosts: [], pods: settings, secret: undefined }))).toContain(
    problem,
  );
});

it('a name that no Service may have is refused, and variables of the gateway are not looked up', () => {
  expect(problemOf(read(object({ command: 'x' }, 'a'.repeat(60))))).not.toBe('');
  expect(problemOf(read(object({ command: 'x', description: '${HOME}' })))).toContain('HOME');
});

it.each([
  ['credentials', { kind: 'oauth' }],
  ['openapi', { document: '/etc/passwd' }],
  ['tls', { caFile: 'ca.pem' }],
])('who may add a server may not name its %s, and is told so', (option, value) => {
  const spec = { url: 'http://wiki.docs.svc/mcp' };
  expect(problemOf(read(object({ ...spec, [option]: value })))).toBe(
    `spec.${option}: only the operator sets this, in the gateway's own file`,
  );
  const service: ServerObject = {
    ...object({ ports: [{ port: 80 }] }),
    kind: 'Service',
    annotations: { [`omnibus.dev/${option}`]: 'x' },
  };
  expect(problemOf(read(service))).toContain(`annotation omnibus.dev/${option}: only the operator sets this`);
});

it.each([
  [{ prefix: '{principal.claims.email} ' }, 'xyz'],
  [{}, 'of {principal.subject}'],
])('who may add a server is not told who calls, by whatever becomes of a header: %j', (more, secret) => {
  const spec = {
    url: 'http://wiki.docs.svc/mcp',
    headersFrom: [{ name: 'X-Who', ...more, secretKeyRef: { name: 'wiki', key: 'token' } }],
  };
  expect(problemOf(read(object(spec), secret))).toBe('spec.headersFrom: the header "X-Who" cannot name the caller');
});

it.each([
  ['http://10.1.2.3/mcp', 'of a private network'],
  ['https://192.168.250.251/mcp', 'of a private network'],
  ['https://172.31.250.1:8443/mcp', 'of a private network'],
  ['http://[fd12:3456::1]/mcp', 'of a private network'],
  ['http://[::ffff:10.1.2.3]/mcp', 'of a private network'],
  ['http://100.64.1.1/mcp', 'of a private network'],
  ['https://1.1.1.1/mcp', undefined],
])('whether an object may name %s: %s', (url, reason) => {
  const problem = problemOf(read(object({ url })));
  if (reason === undefined) expect(problem).toBe('');
  else expect(problem).toMatch(new RegExp(`^spec\\.url: the address is not allowed: .*${reason}`));
  const { hostname } = new URL(url);
  expect(problemOf(readObject(object({ url }), { allowedHosts: [hostname], pods: undefined, secret: undefined }))).toBe(
    '',
  );
});

it('only a name that the cluster gives may resolve to an address of a private network', () => {
  const isPublicOnly = (url: string): unknown => {
    const result = read(object({ url }));
    return 'config' in result ? result.config.addresses?.isPublicOnly : result.problem;
  };
  expect(
    [
      'http://wiki.docs.svc/mcp',
      'http://wiki.docs.svc.cluster.local./mcp',
      'http://wiki.docs.svc.evil.example/mcp',
      'http://wiki.docs/mcp',
      'https://wiki.example/mcp',
    ].map(isPublicOnly),
  ).toEqual([false, false, true, true, true]);
});
