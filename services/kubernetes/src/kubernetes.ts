/**
 * Servers and profiles that teams add in their own namespaces. The informers of the official client list and watch them: they resume a watch
 * where it ended, and list again when the API server no longer knows that place. The state of each object is written into its status.
 */
import type { Informer, KubernetesListObject, KubernetesObject } from '@kubernetes/client-node';
import type { ServerLoad } from '@omnibus/backend';
import type { Config, ProfileConfig, ServerConfig } from '@omnibus/config';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { messageOf, openClient, ownNamespace, type KubernetesClient } from './client.ts';
import { Pods, type PodTarget } from './pods.ts';
import {
  crdVersion,
  group,
  podNameOf,
  readObject,
  secretsOf,
  serverNameOf,
  serviceLabel,
  type Read,
  type ReadOptions,
} from './objects.ts';
import type { ServerObject, ObjectStatus } from './server-object.ts';
import { readProfile, type ReadProfile } from './profiles.ts';
import { Secrets, secretId } from './secrets.ts';
import { comparable, profileStatus, serverStatus } from './status.ts';

/** The servers and profiles that were found, under the names that the gateway gives them. */
export interface Discovered {
  readonly mcpServers: Readonly<Record<string, ServerConfig>>;
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
}

export interface KubernetesDiscoveryOptions {
  readonly settings: Config['discovery']['kubernetes'];
  /** Names that the configuration file uses, of servers and profiles. */
  readonly isTaken: (name: string) => boolean;
  /** Called when servers or profiles were added, changed or removed. */
  readonly changed: (found: Discovered) => void;
  /** State of the servers; undefined in a process that does not connect to servers. */
  readonly servers: ServersHere | undefined;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
}

/** The servers that this process connects to. */
export interface ServersHere {
  readonly records: readonly CatalogRecord[];
  readonly loads: readonly ServerLoad[];
  /** What became of a server lately; undefined when it is not served here. */
  diaryOf(
    server: string,
  ): { readonly lines: readonly { readonly text: string; readonly isOwn: boolean }[] } | undefined;
  /** Servers that are asleep: not called for `sleepAfter`, and disconnected. */
  readonly sleeping: ReadonlySet<string>;
  onSleep(slept: (server: string, isAsleep: boolean) => void): void;
}

type KubernetesEntry = KubernetesObject & { readonly spec?: Record<string, unknown>; readonly status?: ObjectStatus };

/** Milliseconds before a watch begins again after an error of the API server. */
const retryMs = 5_000;
/** Milliseconds in which changes are collected, to be applied together. */
const settleMs = 200;
const statusMs = 2_000;
const plurals = { McpServer: 'mcpservers', McpProfile: 'mcpprofiles' } as const;

/** All objects, as the gateway understands them. */
interface Reading {
  readonly servers: ReadonlyMap<string, Read>;
  readonly profiles: ReadonlyMap<string, ReadProfile>;
}

export class KubernetesDiscovery {
  readonly #options: KubernetesDiscoveryOptions;
  readonly #client: KubernetesClient;
  readonly #objects = new Map<string, ServerObject>();
  readonly #secrets: Secrets | undefined;
  readonly #pods: Pods | undefined;
  readonly #informers: Informer<KubernetesEntry>[] = [];
  /** The status that was last written to each object. */
  readonly #written = new Map<string, string>();
  #found = '';
  #settling: Deadline | undefined;
  #reporting: Deadline | undefined;
  #isStopped = false;

  private constructor(options: KubernetesDiscoveryOptions, client: KubernetesClient) {
    this.#options = options;
    this.#client = client;
    const { settings, servers, wheel, log } = options;
    // A process that connects to no server does not read Secrets.
    this.#secrets =
      settings.secrets && servers !== undefined
        ? new Secrets({
            wheel,
            read: (namespace, name) =>
              client.core.readNamespacedSecret({ namespace, name }).catch((error: unknown) => {
                throw new Error(messageOf(error), { cause: error });
              }),
            changed: () => this.#settle(),
          })
        : undefined;
    this.#pods =
      settings.pods === undefined || servers === undefined
        ? undefined
        : new Pods({ client, settings: settings.pods, sleeping: () => servers.sleeping, wheel, log });
    servers?.onSleep((server, isAsleep) => (isAsleep ? undefined : this.#pods?.roused(server)));
  }

  /** Starts watching. @throws {Error} when there is no cluster to be found: neither a service account nor a kubeconfig. */
  static async start(options: KubernetesDiscoveryOptions): Promise<KubernetesDiscovery> {
    const client = await openClient();
    const discovery = new KubernetesDiscovery(options, client);
    const { namespaces: given } = options.settings;
    const namespaces = given.length === 0 ? [ownNamespace(client.kubeConfig)] : given;
    for (const namespace of namespaces.includes('*') ? [undefined] : namespaces) discovery.#watch(namespace);
    if (options.servers !== undefined) discovery.#reportLater();
    return discovery;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#settling?.cancel();
    this.#secrets?.stop();
    this.#reporting?.cancel();
    await Promise.all([...this.#informers.map((informer) => informer.stop()), this.#pods?.stop()]);
  }

  #watch(namespace: string | undefined): void {
    const { custom, core } = this.#client;
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
    for (const kind of ['McpServer', 'McpProfile'] as const) {
      const plural = plurals[kind];
      this.#inform(
        kind,
        `/apis/${group}/${crdVersion}${within}/${plural}`,
        async () =>
          (namespace === undefined
            ? await custom.listCustomObjectForAllNamespaces({ group, version: crdVersion, resourcePlural: plural })
            : await custom.listNamespacedCustomObject({
                group,
                version: crdVersion,
                plural,
                namespace,
              })) as KubernetesListObject<KubernetesEntry>,
      );
    }
    const labelSelector = `${serviceLabel}=true`;
    this.#inform(
      'Service',
      `/api/v1${within}/services`,
      async () =>
        (namespace === undefined
          ? await core.listServiceForAllNamespaces({ labelSelector })
          : await core.listNamespacedService({
              namespace,
              labelSelector,
            })) as unknown as KubernetesListObject<KubernetesEntry>,
      labelSelector,
    );
  }

  #inform(
    kind: ServerObject['kind'],
    path: string,
    list: () => Promise<KubernetesListObject<KubernetesEntry>>,
    labelSelector?: string,
  ): void {
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
    const { namespace = '', name = '', uid = '', generation = 0, annotations = {}, creationTimestamp } = metadata ?? {};
    // The client library parses timestamps, but not in custom objects, where they stay strings.
    const createdAt = creationTimestamp === undefined ? '' : new Date(creationTimestamp).toISOString();
    this.#objects.set(`${kind} ${namespace}/${name}`, {
      kind,
      namespace,
      name,
      uid,
      generation,
      spec,
      annotations,
      createdAt,
      status: kind !== 'Service' && status?.conditions?.[0] !== undefined ? status : undefined,
    });
    this.#settle();
  }

  #forget(kind: ServerObject['kind'], { metadata }: KubernetesEntry): void {
    const key = `${kind} ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
    this.#pods?.forget(metadata?.uid ?? '');
    this.#objects.delete(key);
    this.#written.delete(key);
    this.#settle();
  }

  #settle(): void {
    if (this.#isStopped) return;
    this.#settling ??= this.#options.wheel.schedule(settleMs, () => {
      this.#settling = undefined;
      this.#secrets?.keep(
        new Set(
          [...this.#objects.values()].flatMap((object) =>
            secretsOf(object).map(({ secretKeyRef }) => secretId(object.namespace, secretKeyRef.name)),
          ),
        ),
      );
      const { servers, profiles } = this.#readAll();
      const pods = new Map<string, PodTarget>();
      for (const [key, read] of servers) {
        if ('problem' in read && key.startsWith('Service '))
          this.#options.log.warn(
            { object: key, problem: read.problem },
            'a Service is labelled as a server and cannot be one',
          );
        const object = this.#objects.get(key);
        if (object !== undefined && 'pod' in read && read.pod !== undefined)
          pods.set(read.server, { object, pod: read.pod });
      }
      this.#pods?.keep(pods);
      const found: Discovered = {
        mcpServers: sorted(
          [...servers.values()].flatMap((read) => ('config' in read ? [[read.server, read.config]] : [])),
        ),
        profiles: sorted(
          [...profiles.values()].flatMap((read) => ('config' in read ? [[read.profile, read.config]] : [])),
        ),
      };
      const text = JSON.stringify(found);
      if (text === this.#found) return;
      this.#found = text;
      this.#options.changed(found);
    });
  }

  /** Reads every object, with the problem of one that cannot be used. If several claim one name, the first gets it: an `McpServer` before a Service, then the older one; profiles come last. */
  #readAll(): Reading {
    const {
      isTaken,
      settings: { allowedHosts, pods, secrets: readsSecrets },
    } = this.#options;
    const secretsFor = (namespace: string): ReadOptions['secret'] =>
      readsSecrets ? (secretKey) => this.#secrets?.value(namespace, secretKey) ?? { value: '' } : undefined;
    const owners = new Map<string, string>();
    const ownerOf = (name: string): string | undefined =>
      isTaken(name) ? "the gateway's own configuration" : owners.get(name);
    const taken = (name: string, owner: string): string => `the name "${name}" is taken, by ${owner}`;
    const claims = [...this.#objects].toSorted(([, a], [, b]) => (claimOf(a) < claimOf(b) ? -1 : 1));
    const servers = new Map(
      claims
        .filter(([, { kind }]) => kind !== 'McpProfile')
        .map(([key, object]): [string, Read] => {
          const read = readObject(object, { allowedHosts, pods, secret: secretsFor(object.namespace) });
          const { server } = read;
          const owner = ownerOf(server);
          if (owner !== undefined) return [key, { server, problem: taken(server, owner) }];
          if ('config' in read) owners.set(server, key);
          return [key, read];
        }),
    );
    const inNamespace = (namespace: string): string[] =>
      [...servers]
        .flatMap(([key, read]) =>
          'config' in read && this.#objects.get(key)?.namespace === namespace ? [read.server] : [],
        )
        .toSorted();
    const profiles = new Map(
      claims
        .filter(([, { kind }]) => kind === 'McpProfile')
        .map(([key, object]): [string, ReadProfile] => {
          const profile = serverNameOf(object);
          const owner = ownerOf(profile);
          if (owner !== undefined) return [key, { profile, problem: taken(profile, owner) }];
          const read = readProfile(object, inNamespace(object.namespace));
          if ('config' in read) owners.set(profile, key);
          return [key, read];
        }),
    );
    return { servers, profiles };
  }

  #reportLater(): void {
    this.#reporting = this.#options.wheel.schedule(statusMs, () => {
      void this.#report().finally(() => {
        if (!this.#isStopped) this.#reportLater();
      });
    });
  }

  /** Writes the status of each object that has changed since it was last written. */
  async #report(): Promise<void> {
    const { servers: here } = this.#options;
    const records = new Map((here?.records ?? []).map((record) => [String(record.server), record]));
    const { servers, profiles } = this.#readAll();
    for (const [key, read] of servers) {
      const object = this.#objects.get(key);
      if (object?.kind !== 'McpServer') continue;
      // Its status says that it had a pod, and it names an address instead of a program now.
      const hadPod = object.status?.conditions.some(({ type }) => type === 'Deployed') === true;
      const leftover =
        hadPod && 'config' in read && read.pod === undefined
          ? this.#pods?.remove(object, podNameOf(object))
          : undefined;
      const podProblem = this.#pods === undefined ? null : this.#pods.problemOf(read.server);
      await this.#write(
        key,
        object,
        serverStatus(object, read, {
          record: records.get(read.server),
          isAsleep: here?.sleeping.has(read.server) === true,
          podProblem,
          leftover,
        }),
      );
    }
    for (const [key, read] of profiles) {
      const object = this.#objects.get(key);
      if (object !== undefined) await this.#write(key, object, profileStatus(object, read));
    }
  }

  async #write(key: string, object: ServerObject, status: ObjectStatus): Promise<void> {
    const { kind, namespace, name } = object;
    const text = comparable(status);
    // Another process may have written the same; where two disagree, each writes its own once.
    if (kind === 'Service' || this.#written.get(key) === text) return;
    try {
      const { custom, mergePatch } = this.#client;
      // Its state here may be older than this process' later writes.
      const isNew = this.#written.has(key) || object.status === undefined || comparable(object.status) !== text;
      if (isNew)
        await custom.patchNamespacedCustomObjectStatus(
          { group, version: crdVersion, namespace, plural: plurals[kind], name, body: { status } },
          mergePatch,
        );
      this.#written.set(key, text);
    } catch (error) {
      this.#options.log.warn({ err: error, namespace, name }, 'the status of an object could not be written');
    }
  }
}

/** Sorts by name, so that every process has the same order, whichever object it saw first. */
function sorted<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function claimOf({ kind, createdAt, namespace, name }: ServerObject): string {
  return `${kind} ${createdAt} ${namespace}/${name}`;
}
