/**
 * Runs servers as pods of their own. Every process that connects to servers applies the same objects (server-side apply, under one name of a
 * manager), so there is no leader and nothing to keep in step; what is applied already changes nothing.
 *
 * How many pods there are follows from who calls the server. A process whose server is awake says so now and then in an annotation of the Deployment,
 * which also brings it from none to one. Once all have let it sleep, the annotation grows old, and whoever sees that takes the pod away. It does so for
 * the Deployment as it was read: who says in the same moment that it is needed makes that fail.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Logger } from '@omnibus/telemetry';
import { codeOf, messageOf, type KubernetesClient, type PatchKind } from './client.ts';
import type { ServerObject } from './objects.ts';
import { podObjects, type Pod, type PodObject, type PodSettings } from './pod-objects.ts';

/** An `McpServer` and the pod it asks for. */
export interface PodTarget {
  readonly object: ServerObject;
  readonly pod: Pod;
}

export interface PodsOptions {
  readonly client: KubernetesClient;
  readonly settings: PodSettings;
  /** Servers that this process has not called for long. */
  readonly sleeping: () => ReadonlySet<string>;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
}

interface Held {
  readonly target: PodTarget;
  readonly text: string;
  /** What the API server says against it; undefined when it was applied, null while it was not tried. */
  problem: string | null | undefined;
  appliedAt: number;
  /** When this process last said or looked how many pods there are to be. */
  lookedAt: number;
}

interface Found {
  readonly metadata?: { readonly resourceVersion?: string; readonly annotations?: Readonly<Record<string, string>>; readonly ownerReferences?: readonly { readonly uid: string }[] };
  readonly spec?: { readonly replicas?: number };
}

const manager = { fieldManager: 'omnibus', force: true } as const;
const usedAt = 'omnibus.dev/used-at';
const lookMs = 2_000;
/** What somebody changed or deleted comes back after this long. */
const againMs = 5 * 60_000;
const retryMs = 10_000;
const [notFound, conflict] = [404, 409];

export class Pods {
  readonly #options: PodsOptions;
  /** By server. */
  readonly #held = new Map<string, Held>();
  #next: Deadline | undefined;
  /** One after the other, so that a slow API server is not pressed. */
  #work: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: PodsOptions) {
    this.#options = options;
    this.#lookLater();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#next?.cancel();
    return this.#work;
  }

  /** @param targets by server: those there are from now on. Objects of others go with their `McpServer`, or by `remove`. */
  keep(targets: ReadonlyMap<string, PodTarget>): void {
    for (const server of this.#held.keys()) if (!targets.has(server)) this.#held.delete(server);
    for (const [server, target] of targets) {
      const text = JSON.stringify(podObjects(target.object, target.pod, this.#options.settings));
      const known = this.#held.get(server);
      if (known?.text === text && known.target.pod.sleepMs === target.pod.sleepMs) continue;
      this.#held.set(server, { target, text, problem: null, appliedAt: -Infinity, lookedAt: -Infinity });
    }
    this.#lookNow();
  }

  /** Somebody calls a server that slept. */
  roused(server: string): void {
    const held = this.#held.get(server);
    if (held === undefined) return;
    held.lookedAt = -Infinity;
    this.#lookNow();
  }

  /** What the API server says against the pod of a server; undefined when it took it, null where that is not known yet. */
  problemOf(server: string): string | null | undefined {
    const held = this.#held.get(server);
    return held === undefined ? null : held.problem;
  }

  /** Takes away what was made for an `McpServer` that has an address now. */
  remove(object: ServerObject, name: string): void {
    this.#queue(async () => {
      for (const kind of ['Deployment', 'Service', 'NetworkPolicy', 'ServiceAccount'] as const) {
        const found = await this.#read(kind, object.namespace, name);
        if (found !== undefined && isOwned(found, object)) await callsOf(this.#options.client, kind).delete({ name, namespace: object.namespace });
      }
    });
  }

  #lookLater(): void {
    if (this.#isStopped) return;
    this.#next = this.#options.wheel.schedule(lookMs, () => this.#lookNow());
  }

  #lookNow(): void {
    this.#next?.cancel();
    for (const [server, held] of this.#held) this.#queue(() => this.#look(server, held));
    this.#queue(() => {
      this.#lookLater();
      return Promise.resolve();
    });
  }

  #queue(run: () => Promise<void>): void {
    this.#work = this.#work.then(() => (this.#isStopped ? undefined : run())).catch((error: unknown) => {
      this.#options.log.warn({ problem: messageOf(error) }, 'the pods of a server could not be looked after; trying again');
    });
  }

  async #look(server: string, held: Held): Promise<void> {
    if (this.#held.get(server) !== held) return; // Changed since.
    const now = performance.now();
    const waitsFor = held.problem === undefined ? againMs : retryMs;
    if (held.problem === null || now - held.appliedAt > waitsFor) await this.#apply(held);
    if (held.problem !== undefined) return;
    const { sleepMs } = held.target.pod;
    if (sleepMs === 0 || now - held.lookedAt < Math.max(sleepMs / 3, lookMs)) return;
    held.lookedAt = now;
    await this.#scale(held, !this.#options.sleeping().has(server));
  }

  async #apply(held: Held): Promise<void> {
    const { client, settings, log } = this.#options;
    const { target: { object, pod } } = held;
    held.appliedAt = performance.now();
    try {
      for (const made of podObjects(object, pod, settings)) {
        const found = await this.#read(made.kind, object.namespace, pod.name);
        if (found !== undefined && !isOwned(found, object)) throw new Error(`there is a ${made.kind} "${pod.name}" already, which was not made for it`);
        await callsOf(client, made.kind).patch({ name: pod.name, namespace: object.namespace, body: made, ...manager }, client.applyPatch);
      }
      held.problem = undefined;
    } catch (error) {
      held.problem = messageOf(error);
      log.warn({ problem: held.problem, namespace: object.namespace, name: object.name }, 'the pod of a server could not be asked for; trying again');
    }
  }

  /** @param isAwake whether this process calls the server. */
  async #scale({ target: { object, pod } }: Held, isAwake: boolean): Promise<void> {
    const { client } = this.#options;
    const to = { name: pod.name, namespace: object.namespace };
    const found = await this.#read('Deployment', to.namespace, to.name);
    if (found === undefined || !isOwned(found, object)) return;
    const { metadata, spec: { replicas = 1 } = {} } = found;
    const patch = (body: object): Promise<unknown> => callsOf(client, 'Deployment').patch({ ...to, body, fieldManager: 'omnibus-scale' }, client.mergePatch);
    if (isAwake) {
      await patch({ metadata: { annotations: { [usedAt]: new Date().toISOString() } }, ...(replicas === 0 ? { spec: { replicas: 1 } } : {}) });
    } else if (replicas > 0 && Date.now() - Date.parse(metadata?.annotations?.[usedAt] ?? '1970-01-01') > pod.sleepMs) {
      await patch({ metadata: { resourceVersion: metadata?.resourceVersion }, spec: { replicas: 0 } }).catch((error: unknown) => {
        if (codeOf(error) !== conflict) throw error; // Somebody needs it after all.
      });
    }
  }

  async #read(kind: PodObject['kind'], namespace: string, name: string): Promise<Found | undefined> {
    try {
      return (await callsOf(this.#options.client, kind).read({ name, namespace })) as Found;
    } catch (error) {
      if (codeOf(error) === notFound) return undefined;
      throw error;
    }
  }
}

function isOwned({ metadata }: Found, { uid }: ServerObject): boolean {
  return metadata?.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

interface Named {
  readonly name: string;
  readonly namespace: string;
}

interface Calls {
  readonly read: (to: Named) => Promise<unknown>;
  readonly patch: (to: Named & { readonly body: object; readonly fieldManager: string; readonly force?: boolean }, how: PatchKind) => Promise<unknown>;
  readonly delete: (to: Named) => Promise<unknown>;
}

function callsOf({ core, apps, networking }: KubernetesClient, kind: PodObject['kind']): Calls {
  switch (kind) {
    case 'ServiceAccount': return { read: (to) => core.readNamespacedServiceAccount(to), patch: (to, how) => core.patchNamespacedServiceAccount(to, how), delete: (to) => core.deleteNamespacedServiceAccount(to) };
    case 'Service': return { read: (to) => core.readNamespacedService(to), patch: (to, how) => core.patchNamespacedService(to, how), delete: (to) => core.deleteNamespacedService(to) };
    case 'NetworkPolicy': return { read: (to) => networking.readNamespacedNetworkPolicy(to), patch: (to, how) => networking.patchNamespacedNetworkPolicy(to, how), delete: (to) => networking.deleteNamespacedNetworkPolicy(to) };
    case 'Deployment': return { read: (to) => apps.readNamespacedDeployment(to), patch: (to, how) => apps.patchNamespacedDeployment(to, how), delete: (to) => apps.deleteNamespacedDeployment(to) };
  }
}
