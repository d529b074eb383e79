/**
 * Stands in for a node and the controllers of Kubernetes, beside a real API server: it makes the Pods of all Deployments, StatefulSets and Jobs of a
 * namespace, which the API server checks, and runs their containers as processes of this machine. A container sees what its manifest gives it: ConfigMaps, Secrets
 * and its token as files where they are mounted, its variables, a root that cannot be written, its user. Each Pod has an address on loopback, names of
 * Services resolve, and a Service leads to ready Pods only. It needs bubblewrap, on Linux.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { Pod } from './pod.ts';
import type { Image, Metadata, PodSpec, Service, Workload } from './pod-types.ts';
import { listenFor } from './service-ports.ts';

/** Whether containers can be run here. */
export const canRunPods =
  process.platform === 'linux' && spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-user', 'true']).status === 0;

const kinds = [
  ['apps/v1', 'deployments'],
  ['apps/v1', 'statefulsets'],
  ['batch/v1', 'jobs'],
] as const;

export class StandInNode implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly pods: readonly Pod[];
  readonly #services: readonly Service[];

  /** Makes and starts the Pods of the workloads that a namespace has now. */
  static async run(api: Cluster, namespace: string, images: readonly Image[]): Promise<StandInNode> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-node-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const services = await itemsOf<Service>(api, 'v1', namespace, 'services');
    const addresses = loopback();
    const hosts = join(folder, 'hosts');
    const pods: Pod[] = [];
    for (const [version, plural] of kinds)
      for (const workload of await itemsOf<Workload>(api, version, namespace, plural))
        for (let number = 0; number < (workload.spec.replicas ?? 1); number += 1) {
          const { metadata, spec } = podOf(workload, number, namespace);
          await api.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec } as never);
          const own = join(folder, metadata.name);
          await mkdir(own);
          const [{ image }] = spec.containers;
          const known = images.find(({ name }) => name === image.replace(/:[^:/]+$/, ''));
          if (known === undefined) throw new Error(`there is no image ${image} here`);
          const address = addresses.next().value;
          pods.push(
            new Pod({ api, namespace, name: metadata.name, address, spec, folder: own, hosts }, metadata, known),
          );
        }
    const lines = ['127.0.0.1 localhost'];
    for (const service of services) lines.push(...(await namesOf(service, pods, addresses, namespace, stack)));
    await writeFile(hosts, `${lines.join('\n')}\n`);
    for (const pod of pods) {
      stack.use(pod);
      pod.start();
    }
    return new StandInNode(pods, services, stack.move());
  }

  private constructor(pods: readonly Pod[], services: readonly Service[], stack: AsyncDisposableStack) {
    this.pods = pods;
    this.#services = services;
    this.#stack = stack;
  }

  /** Resolves when every pod has been ready, and every Job has succeeded. */
  async ready(): Promise<void> {
    await Promise.all(this.pods.map(({ ready }) => ready));
  }

  /** Opens a port of a Service on this machine, as `kubectl port-forward` does. @returns HOST:PORT */
  async forward(name: string, port: number): Promise<string> {
    const service = this.#services.find(({ metadata }) => metadata.name === name);
    const target = service?.spec.ports.find((each) => each.port === port)?.targetPort;
    if (service === undefined || target === undefined)
      throw new Error(`there is no Service ${name} with the port ${port}`);
    const listening = await listenFor('127.0.0.1', 0, target, selected(service, this.pods));
    this.#stack.use(listening);
    return `127.0.0.1:${listening.port}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

async function itemsOf<Item>(
  api: Cluster,
  version: string,
  namespace: string,
  plural: string,
): Promise<readonly Item[]> {
  const base = `/${version.includes('/') ? 'apis' : 'api'}/${version}`;
  const { items } = await api.get<{ readonly items: readonly Item[] }>(`${base}/namespaces/${namespace}/${plural}`);
  return items;
}

/** Addresses of this machine, which no other run of these tests is likely to have. */
function* loopback(): Generator<string, never> {
  const network = `127.${64 + (process.pid % 128)}.${Math.floor(Math.random() * 250)}`;
  for (let host = 1; host < 255; host += 1) yield `${network}.${host}`;
  throw new Error('there are no more addresses for pods');
}

/** A Pod as the controllers make it of a workload. */
function podOf(
  { metadata: { name }, spec }: Workload,
  number: number,
  namespace: string,
): { readonly metadata: Metadata; readonly spec: PodSpec } {
  const { template, volumeClaimTemplates = [] } = spec;
  const own = `${name}-${number}`;
  const claims = volumeClaimTemplates.map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${own}` },
  }));
  return {
    metadata: { ...template.metadata, name: own, namespace },
    spec: { ...template.spec, volumes: [...(template.spec.volumes ?? []), ...claims] },
  };
}

const selected =
  ({ spec: { selector } }: Service, pods: readonly Pod[]) =>
  (): readonly Pod[] =>
    selector === undefined
      ? []
      : pods.filter(({ metadata: { labels = {} } }) =>
          Object.entries(selector).every(([name, value]) => labels[name] === value),
        );

/** The names of a Service for /etc/hosts. One with an address of its own gets one here, at which it listens. */
async function namesOf(
  service: Service,
  pods: readonly Pod[],
  addresses: Iterator<string>,
  namespace: string,
  stack: AsyncDisposableStack,
): Promise<readonly string[]> {
  const { metadata, spec } = service;
  const line = (address: string, name: string): string =>
    [
      address,
      ...['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map((end) => `${name}${end}`),
    ].join(' ');
  const mine = selected(service, pods);
  if (spec.clusterIP === 'None')
    return mine().flatMap(({ placed: { name, address } }) => [
      line(address, `${name}.${metadata.name}`),
      line(address, metadata.name),
    ]);
  const address = addresses.next().value as string;
  for (const { port, targetPort } of spec.ports)
    // Below 1024 is for root, and no container connects there.
    if (port >= 1_024) stack.use(await listenFor(address, port, targetPort, mine));
  return [line(address, metadata.name)];
}
