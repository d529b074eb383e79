/**
 * Servers that teams add in their own namespaces. Lists and watches by the informers of the official client, which go on from
 * where a watch ended and list anew when the API server has forgotten that; what became of each `McpServer` is written into its
 * status.
 */
import { readFileSync } from 'node:fs';
import type { CoreV1Api, CustomObjectsApi, Informer, KubeConfig, KubernetesListObject, KubernetesObject, makeInformer as MakeInformerFunction } from '@kubernetes/client-node';
import type { ServerConfig } from '@omnibus/config';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { Secrets, secretId } from './secrets.ts';
import { crdVersion, group, headersFromOf, plural, readObject, serviceLabel, type Read, type ServerObject, type ServerStatus } from './objects.ts';

export interface KubernetesDiscoveryOptions {
  /** Namespaces to look in: "*" for all; none given means the gateway's own. */
  readonly namespaces: readonly string[];
  /** Hosts that a server may be on whatever their address. */
  readonly allowedHosts: readonly string[];
  /** Whether headers may come from Secrets. */
  readonly secrets: boolean;
  /** Names that are taken by the configuration file. */
  readonly isTaken: (server: string) => boolean;
  /** Called when servers were added, changed or removed. */
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

type KubernetesEntry = KubernetesObject & { readonly spec?: Record<string, unknown>; readonly status?: ServerStatus };

/** Milliseconds before a watch begins anew after an error of the API server. */
const retryMs = 5_000;
/** Milliseconds in which changes are collected, to be applied together. */
const settleMs = 200;
const statusMs = 2_000;

export class KubernetesDiscovery {
  readonly #options: KubernetesDiscoveryOptions;
  readonly #client: KubernetesClient;
  readonly #objects = new Map<string, ServerObject>();
  readonly #secrets: Secrets | undefined;
  readonly #informers: Informer<KubernetesEntry>[] = [];
  /** The status that was last written to each object. */
  readonly #written = new Map<string, string>();
  #servers = '';
  #settling: Deadline | undefined;
  #reporting: Deadline | undefined;
  #isStopped = false;

  private constructor(options: KubernetesDiscoveryOptions, client: KubernetesClient) {
    this.#options = options;
    this.#client = client;
    this.#secrets = options.secrets ? new Secrets({
      wheel: options.wheel,
      read: (namespace, name) => client.core.readNamespacedSecret({ namespace, name }).catch((error: unknown) => {
        throw new Error(messageOf(error), { cause: error });
      }),
      changed: () => this.#settle(),
    }) : undefined;
  }

  /** Watches. @throws {Error} when there is no cluster to be found: neither a service account nor a kubeconfig. */
  static async start(options: KubernetesDiscoveryOptions): Promise<KubernetesDiscovery> {
    // The client library is imported here because it is large, and most gateways run without it.
    const { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer, PatchStrategy, setHeaderOptions } = await import('@kubernetes/client-node');
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromDefault();
    if (kubeConfig.getCurrentCluster() === null) throw new Error('discovery.kubernetes: there is no cluster; run in one, or give a KUBECONFIG');
    const discovery = new KubernetesDiscovery(options, {
      kubeConfig, makeInformer, custom: kubeConfig.makeApiClient(CustomObjectsApi), core: kubeConfig.makeApiClient(CoreV1Api), mergePatch: setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    });
    const namespaces = options.namespaces.length === 0 ? [ownNamespace(kubeConfig)] : options.namespaces;
    for (const namespace of namespaces.includes('*') ? [undefined] : namespaces) discovery.#watch(namespace);
    if (options.records !== undefined) discovery.#reportLater();
    return discovery;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#settling?.cancel();
    this.#secrets?.stop();
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

  #note(kind: ServerObject['kind'], { metadata, spec = {}, status }: KubernetesEntry): void {
    const { namespace = '', name = '', generation = 0, annotations = {}, creationTimestamp } = metadata ?? {};
    // The client makes dates of what are strings on the wire, but not in custom objects.
    const createdAt = creationTimestamp === undefined ? '' : new Date(creationTimestamp).toISOString();
    this.#objects.set(`${kind} ${namespace}/${name}`, { kind, namespace, name, generation, spec, annotations, createdAt, status: kind === 'McpServer' && status?.conditions?.[0] !== undefined ? status : undefined });
    this.#settle();
  }

  #forget(kind: ServerObject['kind'], { metadata }: KubernetesEntry): void {
    const key = `${kind} ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
    this.#objects.delete(key);
    this.#written.delete(key);
    this.#settle();
  }

  #settle(): void {
    if (this.#isStopped) return;
    this.#settling ??= this.#options.wheel.schedule(settleMs, () => {
      this.#settling = undefined;
      this.#secrets?.keep(new Set([...this.#objects.values()].flatMap((object) => headersFromOf(object).map(({ secretKeyRef }) => secretId(object.namespace, secretKeyRef.name)))));
      const found: [string, ServerConfig][] = [];
      for (const [key, read] of this.#readAll()) {
        if ('config' in read) found.push([read.server, read.config]);
        else if (key.startsWith('Service ')) this.#options.log.warn({ object: key, problem: read.problem }, 'a Service is labelled as a server and cannot be one');
      }
      // The same order in every process, whichever object was heard of first.
      const servers = Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
      const text = JSON.stringify(servers);
      if (text === this.#servers) return;
      this.#servers = text;
      this.#options.changed(servers);
    });
  }

  /** What each object says, or why it cannot be a server. Of two with one name the first has it: an `McpServer` before a Service, then the older. */
  #readAll(): ReadonlyMap<string, Read> {
    const owners = new Map<string, string>();
    const claims = [...this.#objects].toSorted(([, a], [, b]) => (claimOf(a) < claimOf(b) ? -1 : 1));
    return new Map(claims.map(([key, object]): [string, Read] => {
      const secrets = this.#secrets;
      const read = readObject(object, { allowedHosts: this.#options.allowedHosts }, secrets === undefined ? undefined : (secretKey) => secrets.value(object.namespace, secretKey));
      const { server } = read;
      const owner = this.#options.isTaken(server) ? "the gateway's own configuration" : owners.get(server);
      if (owner !== undefined) return [key, { server, problem: `the name "${server}" is taken, by ${owner}` }];
      if ('config' in read) owners.set(server, key);
      return [key, read];
    }));
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
    for (const [key, read] of this.#readAll()) {
      const object = this.#objects.get(key);
      if (object?.kind !== 'McpServer') continue;
      const { namespace, name } = object;
      const status = statusOf(object, read, records);
      const text = comparable(status);
      // Another process may have said the same already; where they disagree, each says it once.
      if (this.#written.get(key) === text) continue;
      try {
        if (object.status === undefined || comparable(object.status) !== text) await this.#client.custom.patchNamespacedCustomObjectStatus({ group, version: crdVersion, namespace, plural, name, body: { status } }, this.#client.mergePatch);
        this.#written.set(key, text);
      } catch (error) {
        this.#options.log.warn({ err: error, namespace, name }, 'the status of a server could not be written');
      }
    }
  }
}

const namespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** Of the pod, else of the kubeconfig's context. */
function ownNamespace(kubeConfig: KubeConfig): string {
  try {
    return readFileSync(namespaceFile, 'utf8').trim();
  } catch {
    return kubeConfig.getContextObject(kubeConfig.getCurrentContext())?.namespace ?? 'default'; // Not in a cluster.
  }
}

/** What the API server says, without what the client wraps around it. */
function messageOf(error: unknown): string {
  const { body } = error as { readonly body?: unknown };
  try {
    return (JSON.parse(String(body)) as { readonly message: string }).message;
  } catch {
    return error instanceof Error ? error.message : String(error);
  }
}

function claimOf({ kind, createdAt, namespace, name }: ServerObject): string {
  return `${kind} ${createdAt} ${namespace}/${name}`;
}

function statusOf({ generation, status: before }: ServerObject, read: Read, records: ReadonlyMap<string, CatalogRecord>): ServerStatus {
  const record = records.get(read.server);
  const of = (status: 'True' | 'False', reason: string, message: string, tools = 0, revision: string | null = null): ServerStatus => {
    const [last] = before?.conditions ?? [];
    const lastTransitionTime = last?.status === status ? last.lastTransitionTime : new Date().toISOString();
    return { observedGeneration: generation, tools, revision, conditions: [{ type: 'Ready', status, reason, message, observedGeneration: generation, lastTransitionTime }] };
  };
  if ('problem' in read) return of('False', 'Invalid', read.problem);
  if (record?.status === 'up') return of('True', 'Connected', `its tools are offered as ${read.server}__*`, record.lists.tools.length, record.revision);
  return of('False', 'Unreachable', record?.problem ?? 'it is still connecting');
}

/** Without times, and in an order of our own: the API server has another. */
function comparable({ observedGeneration, tools, revision, conditions: [{ status, reason, message }] }: ServerStatus): string {
  return JSON.stringify([observedGeneration, tools, revision, status, reason, message]);
}
