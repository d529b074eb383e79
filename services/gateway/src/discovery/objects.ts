/**
 * Servers as objects of Kubernetes: an `McpServer` of a team's own namespace, or a Service that is labelled. Only what is safe to
 * take from somebody else is read: an address and settings, never a program to start and never the gateway's own environment.
 */
import { forbiddenHost } from '@omnibus/backend/transport';
import { formatProblem, loadConfig, type ServerConfig } from '@omnibus/config';
import { isToken } from '@omnibus/protocol';

export const group = 'omnibus.dev';
export const crdVersion = 'v1alpha1';
export const plural = 'mcpservers';
/** A Service with this label, set to "true", is a server; a Secret with it may be sent to one. */
export const serviceLabel = `${group}/mcp`;
const annotation = { port: `${group}/port`, path: `${group}/path`, type: `${group}/type`, description: `${group}/description` };

/** The part of an object that is looked at. */
export interface ServerObject {
  readonly kind: 'McpServer' | 'Service';
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** When it was made, in ISO 8601. */
  readonly createdAt: string;
  /** What its status says now. */
  readonly status: ServerStatus | undefined;
}

/** The status of an `McpServer`. */
export interface ServerStatus {
  readonly observedGeneration: number;
  readonly tools: number;
  readonly revision: string | null;
  readonly conditions: readonly [{
    readonly type: 'Ready';
    readonly status: 'True' | 'False';
    readonly reason: string;
    readonly message: string;
    readonly observedGeneration: number;
    readonly lastTransitionTime: string;
  }];
}

/** What an `McpServer` may say; the same words as in the configuration file. */
const fields = ['url', 'type', 'headers', 'description', 'timeout', 'maxTime', 'connectTimeout', 'era', 'isolation', 'concurrency', 'maxWaiting', 'tools'] as const;

/** A value in a Secret. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** A header whose value is kept in a Secret. */
export interface HeaderFrom {
  readonly name: string;
  /** What comes before the value, such as "Bearer ". */
  readonly prefix?: string;
  readonly secretKeyRef: SecretKey;
}

export type Read = { readonly server: string; readonly config: ServerConfig } | { readonly server: string; readonly problem: string };

/**
 * No name of Kubernetes has a "_", so no team can take the name of another's server. A dot, which names may have there, would be
 * none here.
 */
function serverNameOf({ namespace, name }: ServerObject): string {
  return `${namespace}_${name.replaceAll('.', '-')}`;
}

export function headersFromOf({ spec }: ServerObject): readonly HeaderFrom[] {
  return (spec['headersFrom'] ?? []) as readonly HeaderFrom[];
}

/**
 * @param addresses hosts it may be on although they are at addresses that are forbidden to servers of others.
 * @param secret looks up the value of a header; undefined where the gateway reads no Secrets.
 */
export function readObject(object: ServerObject, addresses: { readonly allowedHosts: readonly string[] }, secret: ((key: SecretKey) => { readonly value: string } | { readonly problem: string }) | undefined): Read {
  const server = serverNameOf(object);
  if (!isToken(server)) return { server, problem: `"${server}" is no name for a server: namespace and name together may have 63 characters` };
  const given = object.kind === 'Service' ? fromService(object) : Object.fromEntries(fields.flatMap((field) => (object.spec[field] === undefined ? [] : [[field, object.spec[field]]])));
  if (typeof given === 'string') return { server, problem: given };
  if (given['url'] === undefined) return { server, problem: 'spec.url is missing' };
  const result = loadConfig({ file: server, text: JSON.stringify({ mcpServers: { [server]: given } }), env: {}, readFile: () => '' });
  if ('problems' in result) return { server, problem: result.problems.map((problem) => formatProblem(problem).replace(`mcpServers.${server}`, 'spec')).join('; ') };
  const config = result.config.mcpServers[server] as ServerConfig;
  const problem = forbiddenHost(new URL(String(config.url)).hostname, addresses);
  if (problem !== undefined) return { server, problem: `spec.url: the address is not allowed: ${problem}` };
  const headers: Record<string, string> = { ...config.headers };
  for (const { name, prefix = '', secretKeyRef } of headersFromOf(object)) {
    const found = secret?.(secretKeyRef) ?? { problem: 'this gateway reads no Secrets: discovery.kubernetes.secrets is off' };
    if ('problem' in found) return { server, problem: `spec.headersFrom: ${found.problem}` };
    headers[name] = `${prefix}${found.value}`;
  }
  return { server, config: { ...config, headers, addresses } };
}

function fromService({ namespace, name, spec, annotations }: ServerObject): Record<string, unknown> | string {
  const ports = (spec['ports'] ?? []) as readonly { readonly name?: string; readonly port: number }[];
  const wanted = annotations[annotation.port];
  const port = wanted === undefined ? ports[0] : ports.find((each) => each.name === wanted || String(each.port) === wanted);
  if (port === undefined) return wanted === undefined ? 'the Service has no port' : `the Service has no port "${wanted}" (annotation ${annotation.port})`;
  const path = annotations[annotation.path] ?? '/mcp';
  return {
    url: `http://${name}.${namespace}.svc:${port.port}${path.startsWith('/') ? '' : '/'}${path}`,
    ...(annotations[annotation.type] === undefined ? {} : { type: annotations[annotation.type] }),
    ...(annotations[annotation.description] === undefined ? {} : { description: annotations[annotation.description] }),
  };
}
