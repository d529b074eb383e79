/**
 * Runs servers as pods of their own. Every process that connects to servers applies the same objects (server-side apply, with one field
 * manager), so there is no leader and nothing to coordinate; applying an object again changes nothing.
 *
 * The number of pods follows from the calls. A process that uses the server writes the time into an annotation of the Deployment now and then,
 * and scales it from none to one pod. Once no process uses it, the annotation grows old, and the first process that sees this scales it to none. It
 * does so with the `resourceVersion` that it read, so that it fails if another process has renewed the annotation meanwhile.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Logger } from '@omnibus/telemetry';
import { codeOf, messageOf, type KubernetesClient, type PatchKind } from './client.ts';
import type { ServerObject } from './server-object.ts';
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
  /** Why the API server refused it; undefined when it was applied, null before the first attempt. */
  problem: string | null | undefined;
  appliedAt: number;
  /** Milliseconds after which an application that failed is tried again. */
  retryMs: number;
  /** Time (`performance.now()`) at which this process last adjusted the number of pods. */
  lookedAt: number;
}

/** Objects of an `McpServer` that needs no pod any more. */
interface Leaving {
  readonly object: ServerObject;
  readonly name: string;
  /** The remaining steps, in words; undefined once all of it is deleted. */
  rest: string | undefined;
}

interface Found {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly spec?: { readonly replicas?: number };
}

const manager = { fieldManager: 'omnibus', force: true } as const;
const usedAt = 'omnibus.dev/used-at';
const lookMs = 2_000;
/** Milliseconds after which objects are applied again, in case another client has changed or deleted them. */
const againMs = 5 * 60_000;
/** After a refusal; what may be over in a moment (an API server that did not answer, or had too much to do) is tried again with the next look. */
const refusedMs = 10_000;
const [notFound, conflict, tooMany] = [404, 409, 429];

export class Pods {
  readonly #options: PodsOptions;
  /** The pods that are to exist, by server. */
  readonly #held = new Map<string, Held>();
  /** By the id of the `McpServer`, until it asks for a pod again or is deleted. */
  readonly #leaving = new Map<string, Leaving>();
  #next: Deadline | undefined;
  /** The last request to the API server; requests run one after the other, so that a slow one is not overloaded. */
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

  /** @param targets all pods that are to exist from now on, by server. Objects of others are deleted with their `McpServer`, or by `remove`. */
  keep(targets: ReadonlyMap<string, PodTarget>): void {
    for (const server of this.#held.keys()) if (!targets.has(server)) this.#held.delete(server);
    for (const [server, target] of targets) {
      this.#leaving.delete(target.object.uid);
      const text = JSON.stringify(podObjects(target.object, target.pod, this.#options.settings));
      const known = this.#held.get(server);
      if (known?.text === text && known.target.pod.sleepMs === target.pod.sleepMs) continue;
      this.#held.set(server, {
        target,
        text,
        problem: null,
        appliedAt: -Infinity,
        retryMs: refusedMs,
        lookedAt: -Infinity,
      });
    }
    this.#lookNow();
  }

  /** A server that was asleep is called: its pod is needed again. */
  roused(server: string): void {
    const held = this.#held.get(server);
    if (held === undefined) return;
    held.lookedAt = -Infinity;
    this.#lookNow();
  }

  /** Why the API server refused the pod of a server; undefined when it accepted it, null where that is not known yet. */
  problemOf(server: string): string | null | undefined {
    const held = this.#held.get(server);
    return held === undefined ? null : held.problem;
  }

  /**
   * Deletes the objects of an `McpServer` that now names an address instead of a program, and retries until that succeeds.
   * @returns the remaining steps, in words; undefined once all of them are deleted.
   */
  remove(object: ServerObject, name: string): string | undefined {
    const known = this.#leaving.get(object.uid);
    if (known !== undefined) return known.rest;
    const rest = 'what was made for it is being removed';
    this.#leaving.set(object.uid, { object, name, rest });
    this.#lookNow();
    return rest;
  }

  /** An `McpServer` is deleted, with its objects. */
  forget(uid: string): void {
    this.#leaving.delete(uid);
  }

  #lookLater(): void {
    if (this.#isStopped) return;
    this.#next?.cancel();
    this.#next = this.#options.wheel.schedule(lookMs, () => this.#lookNow());
  }

  #lookNow(): void {
    this.#next?.cancel();
    for (const leaving of this.#leaving.values())
      if (leaving.rest !== undefined) this.#queue(() => this.#leave(leaving));
    for (const [server, held] of this.#held) this.#queue(() => this.#look(server, held));
    this.#queue(() => {
      this.#lookLater();
      return Promise.resolve();
    });
  }

  #queue(run: () => Promise<void>): void {
    this.#work = this.#work
      .then(() => (this.#isStopped ? undefined : run()))
      .catch((error: unknown) => {
        this.#options.log.warn(
          { problem: messageOf(error) },
          'the pods of a server could not be looked after; trying again',
        );
      });
  }

  async #look(server: string, held: Held): Promise<void> {
    if (this.#held.get(server) !== held) return; // Changed since.
    const now = performance.now();
    const waitsFor = held.problem === undefined ? againMs : held.retryMs;
    if (held.problem === null || now - held.appliedAt >= waitsFor) await this.#apply(held);
    if (held.problem !== undefined) return;
    const { sleepMs } = held.target.pod;
    if (sleepMs === 0 || now - held.lookedAt < Math.max(sleepMs / 3, lookMs)) return;
    held.lookedAt = now;
    await this.#scale(held, !this.#options.sleeping().has(server));
  }

  async #leave(leaving: Leaving): Promise<void> {
    const { client, log } = this.#options;
    const { object, name } = leaving;
    if (this.#leaving.get(object.uid) !== leaving) return; // It asks for a pod again.
    try {
      for (const kind of ['Deployment', 'Service', 'NetworkPolicy', 'ServiceAccount'] as const) {
        const found = await this.#read(kind, object.namespace, name);
        if (found !== undefined && isOwned(found, object))
          await callsOf(client, kind).delete({ name, namespace: object.namespace });
      }
      leaving.rest = undefined;
    } catch (error) {
      leaving.rest = `what was made for it cannot be removed: ${messageOf(error)}`;
      log.warn(
        { problem: messageOf(error), namespace: object.namespace, name: object.name },
        'the pod of a server could not be removed; trying again',
      );
    }
  }

  async #apply(held: Held): Promise<void> {
    const { client, settings, log } = this.#options;
    const {
      target: { object, pod },
    } = held;
    held.appliedAt = performance.now();
    try {
      for (const made of podObjects(object, pod, settings)) {
        const found = await this.#read(made.kind, object.namespace, pod.name);
        if (found !== undefined && !isOwned(found, object))
          throw new NotOwnError(`there is a ${made.kind} "${pod.name}" already, which was not made for it`);
        await callsOf(client, made.kind).patch(
          { name: pod.name, namespace: object.namespace, body: made, ...manager },
          client.applyPatch,
        );
      }
      held.problem = undefined;
    } catch (error) {
      held.problem = messageOf(error);
      held.retryMs = mayPass(error) ? 0 : refusedMs;
      log.warn(
        { problem: held.problem, namespace: object.namespace, name: object.name },
        'the pod of a server could not be asked for; trying again',
      );
    }
  }

  /** Adjusts the number of pods. @param isAwake whether this process uses the server. */
  async #scale({ target: { object, pod } }: Held, isAwake: boolean): Promise<void> {
    const { client } = this.#options;
    const to = { name: pod.name, namespace: object.namespace };
    const found = await this.#read('Deployment', to.namespace, to.name);
    if (found === undefined || !isOwned(found, object)) return;
    const { metadata, spec: { replicas = 1 } = {} } = found;
    const patch = (body: object): Promise<unknown> =>
      callsOf(client, 'Deployment').patch({ ...to, body, fieldManager: 'omnibus-scale' }, client.mergePatch);
    if (isAwake) {
      await patch({
        metadata: { annotations: { [usedAt]: new Date().toISOString() } },
        ...(replicas === 0 ? { spec: { replicas: 1 } } : {}),
      });
    } else if (replicas > 0 && Date.now() - Date.parse(metadata?.annotations?.[usedAt] ?? '1970-01-01') > pod.sleepMs) {
      await patch({ metadata: { resourceVersion: metadata?.resourceVersion }, spec: { replicas: 0 } }).catch(
        (error: unknown) => {
          if (codeOf(error) !== conflict) throw error; // On a conflict another process has just used it.
        },
      );
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

/** Whether the same request may succeed a moment later. Errors of this module and of the network have no code. */
function mayPass(error: unknown): boolean {
  const code = codeOf(error);
  return typeof code === 'number'
    ? code >= 500 || code === tooMany || code === conflict
    : !(error instanceof NotOwnError);
}

/** An object of that name is there, and belongs to another. */
class NotOwnError extends Error {}

function isOwned({ metadata }: Found, { uid }: ServerObject): boolean {
  return metadata?.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

interface Named {
  readonly name: string;
  readonly namespace: string;
}

interface Calls {
  readonly read: (to: Named) => Promise<unknown>;
  readonly patch: (
    to: Named & { readonly body: object; readonly fieldManager: string; readonly force?: boolean },
    how: PatchKind,
  ) => Promise<unknown>;
  readonly delete: (to: Named) => Promise<unknown>;
}

function callsOf({ core, apps, networking }: KubernetesClient, kind: PodObject['kind']): Calls {
  switch (kind) {
    case 'ServiceAccount':
      return {
        read: (to) => core.readNamespacedServiceAccount(to),
        patch: (to, how) => core.patchNamespacedServiceAccount(to, how),
        delete: (to) => core.deleteNamespacedServiceAccount(to),
      };
    case 'Service':
      return {
        read: (to) => core.readNamespacedService(to),
        patch: (to, how) => core.patchNamespacedService(to, how),
        delete: (to) => core.deleteNamespacedService(to),
      };
    case 'NetworkPolicy':
      return {
        read: (to) => networking.readNamespacedNetworkPolicy(to),
        patch: (to, how) => networking.patchNamespacedNetworkPolicy(to, how),
        delete: (to) => networking.deleteNamespacedNetworkPolicy(to),
      };
    case 'Deployment':
      return {
        read: (to) => apps.readNamespacedDeployment(to),
        patch: (to, how) => apps.patchNamespacedDeployment(to, how),
        delete: (to) => apps.deleteNamespacedDeployment(to),
      };
  }
}
