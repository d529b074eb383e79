/** The objects for servers in pods that are created and deleted at an API server, also when that fails in between. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { createLogger } from '@omnibus/telemetry';
import { openClient, type KubernetesClient } from './client.ts';
import { readObject } from './objects.ts';
import type { ServerObject } from './server-object.ts';
import type { PodSettings } from './pod-objects.ts';
import { Pods, type PodTarget } from './pods.ts';

/** Objects by path; an answer in `failures` replaces the next one to its method. */
const objects = new Map<string, object>();
const failures = new Map<string, number[]>();
const server = createServer(
  (request, response) =>
    void (async () => {
      const { method = '', url = '' } = request;
      const path = new URL(url, 'http://localhost').pathname;
      const failure = failures.get(method)?.shift();
      const answer = (status: number, body: object): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      if (failure !== undefined) return answer(failure, { kind: 'Status', message: `it answers ${failure}` });
      if (method === 'PATCH') objects.set(path, { ...objects.get(path), ...((await json(request)) as object) });
      const found = objects.get(path);
      if (method === 'DELETE') objects.delete(path);
      return found === undefined ? answer(404, { kind: 'Status', message: 'not found' }) : answer(200, found);
    })(),
);
const settings: PodSettings = {
  image: 'omnibus:1',
  commandImage: 'launchers:1',
  user: 1_000,
  imagePullSecrets: [],
  resources: {},
  from: [],
  egress: [{}],
};
const object: ServerObject = {
  kind: 'McpServer',
  namespace: 'docs',
  name: 'wiki',
  uid: 'u',
  generation: 1,
  spec: { command: 'wiki', sleepAfter: '0s' },
  annotations: {},
  createdAt: '',
  status: undefined,
};

let folder: string;
let client: KubernetesClient;
let wheel: DeadlineWheel;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  folder = await mkdtemp(join(tmpdir(), 'omnibus-pods-'));
  const file = join(folder, 'config');
  const { port } = server.address() as AddressInfo;
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      users: [{ name: 'test', user: {} }],
      clusters: [{ name: 'test', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    }),
  );
  process.env['KUBECONFIG'] = file;
  client = await openClient();
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
});
afterAll(async () => {
  delete process.env['KUBECONFIG'];
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

function targetOf(given: ServerObject): ReadonlyMap<string, PodTarget> {
  const read = readObject(given, { allowedHosts: [], pods: settings, secret: undefined });
  if (!('pod' in read) || read.pod === undefined) throw new Error(JSON.stringify(read));
  return new Map([[read.server, { object: given, pod: read.pod }]]);
}

it('objects are applied and deleted again with the next look after the API server failed for a moment, and what is done is not done again', async () => {
  const pods = new Pods({
    client,
    settings,
    sleeping: () => new Set(),
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
  });
  failures.set('PATCH', [503]);
  pods.keep(targetOf(object));
  await expect.poll(() => pods.problemOf('docs_wiki')).toBe('it answers 503');
  await expect.poll(() => objects.size).toBe(4);
  await expect.poll(() => pods.problemOf('docs_wiki')).toBeUndefined();

  failures.set('DELETE', [500]);
  pods.keep(new Map());
  const rest = (): string | undefined => pods.remove(object, 'mcp-wiki');
  expect(rest()).toBe('what was made for it is being removed');
  await expect.poll(rest).toBe('what was made for it cannot be removed: it answers 500');
  await expect.poll(rest).toBeUndefined();
  expect(objects.size).toBe(0);
  await pods.stop();
});
