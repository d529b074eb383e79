/**
 * Servers that teams add in their own namespaces. Lists and watches by the informers of the official client, which go on from
 * where a watch ended and list anew when the API server has forgotten that; what became of each `McpServer` is written into its
 * status.
 */
import type { CoreV1Api, CustomObjectsApi, Informer, KubeConfig, KubernetesListObject, KubernetesObject, makeInformer as MakeInformerFunction } from '@kubernetes/client-node';
import type { ServerConfig } from '@omnibus/config';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { crdVersion, group, plural, readObject, serverNameOf, serviceLabel, type ServerObject } from './objects.ts';

export interface KubernetesDiscoveryOptions {
  /** Empty for all. */
  readonly namespaces: readonly string[];
  /** Names that are taken by the configuration file. */
  readonly isTaken: (server: string) => boolean;
  /** Called when the servers are not what they were. */
  readonly changed: (servers: Readonly<Record<string, ServerConfig>>) => void;
  /** What became of the servers; undefined in a process that is not connected to them and so does not know. */
  readonly records: (() => readonly CatalogRecord[]) | undefined;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
}

type MakeInformer = typeof MakeInformerFunction;

interface KubernetesClient {
  readonly kubeConfig: KubeConfig;
  readonly custom: CustomObjectsApi;
  readonly core: CoreV1Api;
  readonly makeInformer: MakeInformer;
  readonly mergePatch: Parameters<CustomObjectsApi['patchNamespacedCustomObjectStatus']>[1];
}

type KubernetesEntry = KubernetesObject & { readonly spec?: Record<string, unknown> };

/** After an error of the API server. */
const retryMs = 5_000;
/** Changes that come together are applied together. */
const settleMs = 200;
const statusMs = 2_000;

export class KubernetesDiscovery {
  readonly #options: KubernetesDiscoveryOptions;
  readonly #client: KubernetesClient;
  readonly #objects = new Map<string, ServerObject>();
  readonly #informers: Informer<KubernetesEntry>[] = [];
  /** As it was last written, by object. */
  readonly #written = new Map<string, string>();
  #servers = '';
  #settling: Deadline | undefined;
  #reporting: Deadline | undefined;
  #isStopped = false;

  private constructor(options: KubernetesDiscoveryOptions, client: KubernetesClient) {
    this.#options = options;
    this.#client = client;
  }

  /** Watches. @throws {Error} when there is no cluster to be found: neither a service account nor a kubeconfig. */
  static async start(options: KubernetesDiscoveryOptions): Promise<KubernetesDiscovery> {
    // Loaded where it is used: it is large, and most gateways run without.
    const { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer, PatchStrategy, setHeaderOptions } = await import('@kubernetes/client-node');
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromDefault();
    if (kubeConfig.getCurrentCluster() === null) throw new Error('discovery.kubernetes: there is no cluster; run in one, or give a KUBECONFIG');
    const discovery = new KubernetesDiscovery(options, {
      kubeConfig, makeInformer, custom: kubeConfig.makeApiClient(CustomObjectsApi), core: kubeConfig.makeApiClient(CoreV1Api), mergePatch: setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    });
    for (const namespace of options.namespaces.length === 0 ? [undefined] : options.namespaces) discovery.#watch(namespace);
    if (options.records !== undefined) discovery.#reportLater();
    return discovery;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#settling?.cancel();
    this.#reporting?.cancel();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  #watch(namespace: string | undefined): void {
    const { custom, core } = this.#client;
    const kind = { group, version: crdVersion, plural };
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
    this.#inform('McpServer', `/apis/${group}/${crdVersion}${within}/${plural}`, async () => (namespace === undefined
      ? await custom.listCustomObjectForAllNamespaces({ group, version: crdVersion, resourcePlural: plural })
      : await custom.listNamespacedCustomObject({ ...kind, namespace })) as KubernetesListObject<KubernetesEntry>);
    const labelSelector = `${serviceLabel}=true`;
    this.#inform('Service', `/api/v1${within}/services`, async () => (namespace === undefined
      ? await core.listServiceForAllNamespaces({ labelSelector })
      : await core.listNamespacedService({ namespace, labelSelector })) as unknown as KubernetesListObject<KubernetesEntry>, labelSelector);
  }

  #inform(kind: ServerObject['kind'], path: string, list: () => Promise<KubernetesListObject<KubernetesEntry>>, labelSelector?: string): void {
    const { kubeConfig, makeInformer } = this.#client;
    const { log, wheel } = this.#options;
    const informer = makeInformer<KubernetesEntry>(kubeConfig, path, list, labelSelector);
    this.#informers.push(informer);
    for (const verb of ['add', 'update'] as const) informer.on(verb, (entry) => this.#note(kind, entry));
    informer.on('delete', (entry) => this.#forget(kind, entry));
    const start = (): void => {
      if (!this.#isStopped) informer.start().catch(again);
    };
    const again = (error: unknown): void => {
      if (this.#isStopped) return;
      log.warn({ err: error, path }, 'servers in Kubernetes cannot be watched; trying again');
      wheel.schedule(retryMs, start);
    };
    informer.on('error', again);
    start();
  }

  #note(kind: ServerObject['kind'], { metadata, spec = {} }: KubernetesEntry): void {
    const { namespace = '', name = '', generation = 0, annotations = {} } = metadata ?? {};
    this.#objects.set(`${kind} ${namespace}/${name}`, { kind, namespace, name, generation, spec, annotations });
    this.#settle();
  }

  #forget(kind: ServerObject['kind'], { metadata }: KubernetesEntry): void {
    const key = `${kind} ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
    this.#objects.delete(key);
    this.#written.delete(key);
    this.#settle();
  }

  #settle(): void {
    this.#settling ??= this.#options.wheel.schedule(settleMs, () => {
      this.#settling = undefined;
      const servers: Record<string, ServerConfig> = {};
      // The same order in every process, whichever object was heard of first.
      for (const object of [...this.#objects.values()].toSorted((a, b) => (serverNameOf(a) < serverNameOf(b) ? -1 : 1))) {
        const read = this.#read(object);
        if ('config' in read) servers[read.server] = read.config;
        else if (object.kind === 'Service') this.#options.log.warn({ namespace: object.namespace, service: object.name, problem: read.problem }, 'a Service is labelled as a server and cannot be one');
      }
      const text = JSON.stringify(servers);
      if (text === this.#servers) return;
      this.#servers = text;
      this.#options.changed(servers);
    });
  }

  #read(object: ServerObject): ReturnType<typeof readObject> {
    const read = readObject(object);
    if (this.#options.isTaken(read.server)) return { server: read.server, problem: `the gateway's own configuration has a server "${read.server}" already` };
    return read;
  }

  #reportLater(): void {
    this.#reporting = this.#options.wheel.schedule(statusMs, () => {
      void this.#report().finally(() => {
        if (!this.#isStopped) this.#reportLater();
      });
    });
  }

  /** Writes what became of each `McpServer`, where that is not what was written last. */
  async #report(): Promise<void> {
    const records = new Map((this.#options.records?.() ?? []).map((record) => [String(record.server), record]));
    for (const [key, object] of this.#objects) {
      if (object.kind !== 'McpServer') continue;
      const { namespace, name, generation } = object;
      const { tools, revision, ...condition } = this.#outcome(object, records);
      const text = JSON.stringify([generation, condition, tools, revision]);
      if (this.#written.get(key) === text) continue;
      const status = { observedGeneration: generation, tools, revision: revision ?? null, conditions: [{ type: 'Ready', ...condition, observedGeneration: generation, lastTransitionTime: new Date().toISOString() }] };
      try {
        await this.#client.custom.patchNamespacedCustomObjectStatus({ group, version: crdVersion, namespace, plural, name, body: { status } }, this.#client.mergePatch);
        this.#written.set(key, text);
      } catch (error) {
        this.#options.log.warn({ err: error, namespace, name }, 'the status of a server could not be written');
      }
    }
  }

  #outcome(object: ServerObject, records: ReadonlyMap<string, CatalogRecord>): { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string; readonly tools: number; readonly revision: string | undefined } {
    const read = this.#read(object);
    if ('problem' in read) return { status: 'False', reason: 'Invalid', message: read.problem, tools: 0, revision: undefined };
    const record = records.get(read.server);
    if (record?.status === 'up') return { status: 'True', reason: 'Connected', message: `its tools are offered as ${read.server}__*`, tools: record.lists.tools.length, revision: record.revision };
    return { status: 'False', reason: 'Unreachable', message: record?.problem ?? 'it is still connecting', tools: 0, revision: undefined };
  }
}
