/**
 * Stands in for a kubelet and the Deployment controller: for each Deployment with one replica it creates a Pod, which the API server must accept, and
 * runs its command; for a Deployment with none it has no Pod. Images are folders of this machine, and the names of Services resolve to its addresses.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiServer, KubernetesObject } from './api-server.ts';
import { omnibusProgram, type RunningProcess, startProcess } from './processes.ts';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Container {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly resources?: { readonly requests?: object; readonly limits?: object };
}

export interface Deployment {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  };
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: object;
      readonly spec: { readonly initContainers?: readonly Container[]; readonly containers: readonly [Container] };
    };
  };
}

const lookMs = 100;
/** The path of the gateway's program in a pod, and the command that starts it. */
const begin = ['/omnibus/loader', '--library-path', '/omnibus/lib', '/omnibus/node', '/omnibus/app/bin/omnibus.js'];

export class PodAgent implements AsyncDisposable {
  readonly #api: ApiServer;
  readonly #namespace: string;
  readonly #folder: string;
  readonly #running = new Map<string, RunningProcess>();
  #isOver = false;
  readonly #loop: Promise<void>;
  /** Number of pods so far of each Deployment. */
  readonly started = new Map<string, number>();
  /** Problems, such as a Pod that the API server has refused. */
  readonly problems: string[] = [];

  static async start(api: ApiServer, namespace: string): Promise<PodAgent> {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-pods-'));
    await writeFile(join(folder, 'names.cjs'), namesScript);
    return new PodAgent(api, namespace, folder);
  }

  private constructor(api: ApiServer, namespace: string, folder: string) {
    this.#api = api;
    this.#namespace = namespace;
    this.#folder = folder;
    this.#loop = this.#run();
  }

  /** The environment for a process that must resolve `NAME.NAMESPACE.svc`. */
  get environment(): Readonly<Record<string, string>> {
    return { NODE_OPTIONS: `--require=${join(this.#folder, 'names.cjs')}`, TEST_NAMES_OF: this.#namespace };
  }

  host(name: string): string {
    return `${name}.${this.#namespace}.svc`;
  }

  get pods(): string[] {
    return [...this.#running.keys()];
  }

  /** Kills the program of a pod, as when a node is lost. */
  kill(name: string): void {
    this.#running.get(name)?.kill('SIGKILL');
    this.#running.delete(name);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#look().catch((error: unknown) => {
        const problem = String(error);
        if (!this.problems.includes(problem)) this.problems.push(problem);
      });
      await new Promise((resolve) => {
        setTimeout(resolve, lookMs);
      });
    }
  }

  async #look(): Promise<void> {
    const { items } = await this.#api.get<{ readonly items: readonly Deployment[] }>(
      `/apis/apps/v1/namespaces/${this.#namespace}/deployments?labelSelector=app.kubernetes.io/managed-by=omnibus`,
    );
    const wanted = new Map(items.filter(({ spec }) => spec.replicas > 0).map((each) => [each.metadata.name, each]));
    for (const [name, pod] of this.#running) {
      if (wanted.has(name)) continue;
      this.#running.delete(name);
      await this.#api.delete(this.#pod(name));
      await pod[Symbol.asyncDispose]();
    }
    for (const [name, deployment] of wanted) if (!this.#running.has(name)) await this.#start(name, deployment);
  }

  #pod(name: string): KubernetesObject {
    return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: this.#namespace } };
  }

  async #start(name: string, { spec: { template } }: Deployment): Promise<void> {
    await this.#api.delete(this.#pod(name)).catch(() => undefined); // The Pod exists only after `kill`.
    await this.#api.create({
      ...this.#pod(name),
      metadata: { ...template.metadata, name, namespace: this.#namespace },
      spec: template.spec,
    } as KubernetesObject);
    const [container] = template.spec.containers;
    const { command = [], args = [], env = [] } = container;
    if (JSON.stringify(command.slice(0, begin.length)) !== JSON.stringify(begin))
      throw new Error(`the command of ${name} begins otherwise: ${command.join(' ')}`);
    const values = await Promise.all(
      env.map(async (variable) => [variable.name, await this.#valueOf(variable)] as const),
    );
    const rest = command.slice(begin.length).map((word) => word.replace('0.0.0.0:', `${addressOf(this.host(name))}:`));
    this.#running.set(name, startProcess('node', [omnibusProgram, ...rest, ...args], Object.fromEntries(values)));
    this.started.set(name, (this.started.get(name) ?? 0) + 1);
  }

  async #valueOf({ value = '', valueFrom }: Variable): Promise<string> {
    if (valueFrom === undefined) return value;
    const { name, key } = valueFrom.secretKeyRef;
    const { data } = await this.#api.get<{ readonly data: Readonly<Record<string, string>> }>(
      `/api/v1/namespaces/${this.#namespace}/secrets/${name}`,
    );
    return Buffer.from(data[key] as string, 'base64').toString();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#loop;
    await Promise.all([...this.#running.values()].map((pod) => pod[Symbol.asyncDispose]()));
    await rm(this.#folder, { recursive: true });
  }
}

/** A loopback address for each name. */
function addressOf(host: string): string {
  let sum = 7;
  for (const character of host) sum = (sum * 31 + character.charCodeAt(0)) % 60_000;
  return `127.77.${Math.floor(sum / 250)}.${(sum % 250) + 1}`;
}

/** A module for Node that resolves the names of the cluster. */
const namesScript = `
const dns = require('node:dns');
const { syncBuiltinESMExports } = require('node:module');
const { lookup } = dns;
const addressOf = ${addressOf.toString()};
dns.lookup = (host, options, callback) => {
  if (!host.endsWith('.' + process.env.TEST_NAMES_OF + '.svc')) return lookup(host, options, callback);
  const [settings, done] = typeof options === 'function' ? [{}, options] : [options, callback];
  const address = addressOf(host);
  process.nextTick(() => (settings.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)));
};
syncBuiltinESMExports();
`;
