/** Where a stand-in for a node finds its objects: a real API server, or the manifests of a chart. */
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../api-server.ts';

/** The operations of an API server that a node needs (`ApiServer`). */
export interface Cluster {
  /** Its address for pods; undefined where there is none. */
  readonly address: string | undefined;
  get<Entry extends object>(path: string): Promise<Entry>;
  create(object: KubernetesObject): Promise<void>;
  mergeStatus(object: KubernetesObject & { readonly status: object }): Promise<void>;
  tokenOf(namespace: string, serviceAccount: string): Promise<string>;
  authority(): Promise<string>;
}

/** The objects of `helm template`, without an API server: no pod may need one. */
export class RenderedCluster implements Cluster {
  readonly address = undefined;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #namespace: string;

  constructor(manifests: string, namespace: string) {
    this.#namespace = namespace;
    for (const document of parseAllDocuments(manifests)) {
      const object = document.toJS() as KubernetesObject | null;
      if (object !== null) this.#objects.set(`${object.kind.toLowerCase()}s/${object.metadata.name}`, object);
    }
  }

  get<Entry extends object>(path: string): Promise<Entry> {
    const [, namespace, plural = '', name] = /\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
    if (namespace !== this.#namespace) throw new Error(`nothing was rendered for ${path}`);
    if (name === undefined) {
      const items = [...this.#objects].flatMap(([key, object]) => (key.startsWith(`${plural}/`) ? [object] : []));
      return Promise.resolve({ items } as unknown as Entry);
    }
    const found = this.#objects.get(`${plural}/${name}`);
    if (found === undefined) throw new Error(`${plural} "${name}" not found`);
    return Promise.resolve(found as unknown as Entry);
  }

  create(object: KubernetesObject): Promise<void> {
    this.#objects.set(`${object.kind.toLowerCase()}s/${object.metadata.name}`, object);
    return Promise.resolve();
  }

  mergeStatus(): Promise<void> {
    return Promise.resolve();
  }

  tokenOf(_namespace: string, serviceAccount: string): Promise<string> {
    throw new Error(`a pod wants a token of ${serviceAccount}, and there is no API server`);
  }

  authority(): Promise<string> {
    throw new Error('there is no API server');
  }
}
