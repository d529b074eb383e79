/**
 * A stand-in for the parts of the Kubernetes API server that discovery uses, with its real protocol over HTTP: lists with resource versions, watches that
 * send one line for each event since a version, 410 for an expired version, merge patches of a status.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject } from '@omnibus/protocol';
import { StandInServer } from './stand-in-server.ts';

interface Entry {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
    readonly generation?: number;
    readonly resourceVersion?: string;
  };
  readonly spec: JsonObject;
  readonly status?: object;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Entry;
  readonly version: number;
}

interface Watch {
  readonly resource: Resource;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly response: ServerResponse;
}

export interface StatusPatch {
  readonly name: string;
  readonly contentType: string;
  readonly status: {
    readonly tools: number;
    readonly endpoint?: string;
    readonly conditions: readonly [{ readonly status: string; readonly reason: string; readonly message: string }];
  };
}

const resources = {
  mcpservers: { apiVersion: 'omnibus.dev/v1alpha1', kind: 'McpServer' },
  mcpprofiles: { apiVersion: 'omnibus.dev/v1alpha1', kind: 'McpProfile' },
  services: { apiVersion: 'v1', kind: 'Service' },
} as const;
type Resource = keyof typeof resources;

export class KubernetesApi extends StandInServer {
  readonly #entries = new Map<string, Entry>();
  readonly #events: Record<Resource, WatchEvent[]> = { mcpservers: [], mcpprofiles: [], services: [] };
  readonly #watches = new Set<Watch>();
  #version = 100;
  /** Versions up to this one have expired. */
  #forgotten = 0;
  #folder = '';
  readonly patches = new Heard<StatusPatch>();
  /** The version at which each watch began. */
  readonly watched = new Heard<{ readonly resource: Resource; readonly from: number }>();
  readonly listed = new Heard<Resource>();
  kubeconfig = '';
  /** By namespace and name. */
  readonly secrets = new Map<
    string,
    { readonly labels: Record<string, string>; readonly data: Record<string, string> }
  >();

  static async start(): Promise<KubernetesApi> {
    const api = await new KubernetesApi().listen();
    api.#folder = await mkdtemp(join(tmpdir(), 'omnibus-kubernetes-'));
    api.kubeconfig = join(api.#folder, 'config');
    await writeFile(
      api.kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
        users: [{ name: 'test', user: { token: 'test-token' } }],
        clusters: [
          {
            name: 'test',
            cluster: {
              server: `http://127.0.0.1:${api.port}`,
              'insecure-skip-tls-verify': true,
            },
          },
        ],
      }),
    );
    return api;
  }

  apply(
    resource: Resource,
    namespace: string,
    name: string,
    spec: JsonObject,
    {
      status,
      ...more
    }: {
      readonly labels?: Record<string, string>;
      readonly annotations?: Record<string, string>;
      readonly status?: object;
    } = {},
  ): void {
    const key = `${resource} ${namespace}/${name}`;
    const before = this.#entries.get(key);
    this.#version += 1;
    const entry: Entry = {
      ...resources[resource],
      metadata: {
        namespace,
        name,
        ...more,
        generation: (before?.metadata.generation ?? 0) + 1,
        resourceVersion: String(this.#version),
      },
      spec,
      ...(status === undefined ? {} : { status }),
    };
    this.#entries.set(key, entry);
    this.#announce(resource, {
      type: before === undefined ? 'ADDED' : 'MODIFIED',
      object: entry,
      version: this.#version,
    });
  }

  delete(resource: Resource, namespace: string, name: string): void {
    const key = `${resource} ${namespace}/${name}`;
    const entry = this.#entries.get(key) as Entry;
    this.#entries.delete(key);
    this.#version += 1;
    this.#announce(resource, {
      type: 'DELETED',
      object: { ...entry, metadata: { ...entry.metadata, resourceVersion: String(this.#version) } },
      version: this.#version,
    });
  }

  /** Ends all watches, as an API server does from time to time. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  /** Lets all versions so far expire, so that a watch from one of them must list again. */
  compact(): void {
    this.#forgotten = this.#version;
    this.#version += 1;
    this.endWatches();
  }

  #announce(resource: Resource, event: WatchEvent): void {
    this.#events[resource].push(event);
    for (const watch of this.#watches) if (watch.resource === resource) write(watch, event);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const secret = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/.exec(url.pathname);
    if (secret !== null) {
      this.#answerSecret(`${secret[1]}/${secret[2]}`, response);
      return;
    }
    const match =
      /^\/(?:apis\/omnibus\.dev\/v1alpha1|api\/v1)(?:\/namespaces\/([^/]+))?\/(mcpservers|mcpprofiles|services)(?:\/([^/]+)\/status)?$/.exec(
        url.pathname,
      );
    if (match === null || request.headers.authorization !== 'Bearer test-token') {
      response.writeHead(match === null ? 404 : 401).end();
      return;
    }
    const [, namespace, resource, name] = match as unknown as [
      string,
      string | undefined,
      Resource,
      string | undefined,
    ];
    if (request.method === 'PATCH') {
      const { status } = (await json(request)) as { status: StatusPatch['status'] };
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      this.patches.add({ name: name ?? '', contentType: request.headers['content-type'] ?? '', status });
    } else if (url.searchParams.get('watch') === 'true') {
      this.#watch({ resource, namespace, response }, Number(url.searchParams.get('resourceVersion')));
    } else {
      const selector = url.searchParams.get('labelSelector');
      const items = [...this.#entries]
        .filter(
          ([key, { metadata }]) =>
            key.startsWith(`${resource} `) &&
            (namespace === undefined || metadata.namespace === namespace) &&
            (selector === null || metadata.labels?.[selector.split('=')[0] as string] === selector.split('=')[1]),
        )
        .map(([, entry]) => entry);
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          ...resources[resource],
          kind: `${resources[resource].kind}List`,
          metadata: { resourceVersion: String(this.#version) },
          items,
        }),
      );
      this.listed.add(resource);
    }
  }

  #answerSecret(id: string, response: ServerResponse): void {
    const found = this.secrets.get(id);
    const body =
      found === undefined
        ? { kind: 'Status', code: 404, message: `secrets "${id.split('/')[1]}" not found` }
        : {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: { labels: found.labels },
            data: Object.fromEntries(
              Object.entries(found.data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
            ),
          };
    response
      .writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body));
  }

  #watch(watch: Watch, from: number): void {
    const { resource, response } = watch;
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (from <= this.#forgotten) {
      response.end(
        `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', apiVersion: 'v1', code: 410, reason: 'Expired', message: 'too old resource version' } })}\n`,
      );
      return;
    }
    for (const event of this.#events[resource]) if (event.version > from) write(watch, event);
    this.#watches.add(watch);
    response.once('close', () => this.#watches.delete(watch));
    this.watched.add({ resource, from });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true });
  }
}

function write({ namespace, response }: Watch, { type, object }: WatchEvent): void {
  if (namespace === undefined || object.metadata.namespace === namespace)
    response.write(`${JSON.stringify({ type, object })}\n`);
}
