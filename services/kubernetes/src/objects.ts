/**
 * Servers as Kubernetes objects: an `McpServer` in a team's own namespace, or a Service with a label. Only options that are safe to accept from
 * other teams is read: an address and settings, and a program only if it runs in a pod of that namespace. No program is started where the
 * gateway runs, and references to the gateway's environment are not resolved.
 */
import { createHash } from 'node:crypto';
import { forbiddenHost } from '@omnibus/backend/transport';
import { loadConfig, type ServerConfig } from '@omnibus/config';
import { hasTemplates, isObject, isToken } from '@omnibus/protocol';
import { exposedPort, type Pod, type PodSettings } from './pod-objects.ts';
import type { ServerObject } from './server-object.ts';

export const group = 'omnibus.dev';
export const crdVersion = 'v1alpha1';
/** A Service with this label, set to "true", is a server; a Secret with it may be sent to one. */
export const serviceLabel = `${group}/mcp`;
const annotation = {
  port: `${group}/port`,
  path: `${group}/path`,
  type: `${group}/type`,
  description: `${group}/description`,
};

/** Members of the spec of an `McpServer` that pass unchanged; they have the names of the configuration file. */
const fields = [
  'url',
  'type',
  'headers',
  'description',
  'timeout',
  'maxTime',
  'maxResultBytes',
  'connectTimeout',
  'era',
  'isolation',
  'concurrency',
  'maxConnections',
  'maxWaiting',
  'sleepAfter',
  'tenants',
  'definitions',
  'validation',
  'rereadLists',
  'includeTools',
  'excludeTools',
  'tools',
] as const;

/**
 * Options that only the operator may set: with `credentials`, users must sign in, and callers' tokens are exchanged, with secrets of the gateway; the document of
 * `openapi` may be a file of the gateway's machine. They are refused here, and not left out, so that no server seems to use its users' credentials.
 */
const operatorsOwn = ['credentials', 'openapi', 'tls'] as const;

/** Defaults of a server in a pod: longer to connect, since the pod may have to be scheduled and its image pulled, and fewer connections, since each is a program that takes memory of the one pod. */
const podDefaults = { sleepAfter: '10m', connectTimeout: '60s', maxConnections: 16 };

/** A value in a Secret. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** A header or a variable with its value in a Secret. */
export interface ValueFrom {
  readonly name: string;
  /** What comes before the value of a header, such as "Bearer ". */
  readonly prefix?: string;
  readonly secretKeyRef: SecretKey;
}

export type Read =
  | { readonly server: string; readonly config: ServerConfig; readonly pod?: Pod }
  | { readonly server: string; readonly problem: string };

export interface ReadOptions {
  /** Hosts that are allowed although their addresses, such as private ones, are forbidden to servers of other teams. */
  readonly allowedHosts: readonly string[];
  /** Settings for pods; undefined where the gateway makes none. */
  readonly pods: PodSettings | undefined;
  /** Looks up the value of a header or variable; undefined where the gateway reads no Secrets. */
  readonly secret: ((key: SecretKey) => { readonly value: string } | { readonly problem: string }) | undefined;
}

/**
 * The gateway's name of a server. Kubernetes names have no "_", so no team can take the name of another team's server. Dots are allowed in
 * Kubernetes names but not in the gateway's, and become "-".
 */
export function serverNameOf({ namespace, name }: Pick<ServerObject, 'namespace' | 'name'>): string {
  return `${namespace}_${name.replaceAll('.', '-')}`;
}

export function podNameOf({ name }: Pick<ServerObject, 'name'>): string {
  return `mcp-${name.replaceAll('.', '-')}`;
}

/** All values that an object takes from Secrets: headers first, then environment variables. */
export function secretsOf(object: ServerObject): readonly ValueFrom[] {
  return [...valuesFrom(object, 'headersFrom'), ...valuesFrom(object, 'envFrom')];
}

function valuesFrom({ spec }: ServerObject, field: 'headersFrom' | 'envFrom'): readonly ValueFrom[] {
  return (spec[field] ?? []) as readonly ValueFrom[];
}

export function readObject(object: ServerObject, options: ReadOptions): Read {
  const server = serverNameOf(object);
  const problem = placeProblem(object, server, options) ?? operatorProblem(object);
  if (problem !== undefined) return { server, problem };
  const read = settingsOf(object, options);
  if (typeof read === 'string') return { server, problem: read };
  const { settings, values, pod } = read;
  const config = checked(server, settings, options.allowedHosts);
  if (typeof config === 'string') return { server, problem: config };
  const headers: Record<string, string> = { ...config.headers };
  for (const [index, { name, prefix = '' }] of valuesFrom(object, 'headersFrom').entries())
    headers[name] = `${prefix}${values[index] as string}`;
  // Those of `headers` were refused above.
  const [naming] = Object.entries(headers).find(([name, value]) => hasTemplates({ [name]: value })) ?? [];
  if (naming !== undefined)
    return { server, problem: `spec.headersFrom: the header "${naming}" cannot name the caller` };
  const complete = { ...config, headers, addresses: addressesOf(config, options.allowedHosts) };
  return pod === undefined
    ? { server, config: complete }
    : { server, config: { ...complete, isStarted: true }, pod: { ...pod, sleepMs: config.sleepAfter } };
}

/** Whether the object asks for a pod, not for a server that runs already. */
const wantsPod = ({ kind, spec }: ServerObject): boolean =>
  kind === 'McpServer' && (spec['command'] !== undefined || spec['image'] !== undefined);

/** Why the gateway cannot have the server at all, whatever its settings are. */
function placeProblem(object: ServerObject, server: string, { pods }: ReadOptions): string | undefined {
  if (!isToken(server))
    return `"${server}" is no name for a server: namespace and name together may have 63 characters`;
  if (!wantsPod(object)) return undefined;
  if (object.spec['url'] !== undefined)
    return 'spec.url is of a server that runs already, and does not go with spec.command or spec.image';
  return pods === undefined ? 'this gateway has no pods made: discovery.kubernetes.pods is not there' : undefined;
}

function operatorProblem({ spec, annotations }: ServerObject): string | undefined {
  const option = operatorsOwn.find((each) => spec[each] !== undefined || annotations[`${group}/${each}`] !== undefined);
  if (option === undefined) return undefined;
  const place = spec[option] === undefined ? `annotation ${group}/${option}` : `spec.${option}`;
  return `${place}: only the operator sets this, in the gateway's own file`;
}

interface ObjectSettings {
  readonly settings: Readonly<Record<string, unknown>>;
  /** From Secrets, in the order of `secretsOf`. */
  readonly values: readonly string[];
  readonly pod: Omit<Pod, 'sleepMs'> | undefined;
}

/** @returns a text if the object is wrong, which says why. */
function settingsOf(object: ServerObject, { pods, secret }: ReadOptions): ObjectSettings | string {
  const { spec } = object;
  const given =
    object.kind === 'Service'
      ? fromService(object)
      : Object.fromEntries(fields.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])));
  if (typeof given === 'string') return given;
  const values = secretValues(object, secret);
  if (typeof values === 'string') return values;
  const pod =
    pods !== undefined && wantsPod(object)
      ? podOf(object, pods, values.slice(valuesFrom(object, 'headersFrom').length))
      : undefined;
  if (typeof pod === 'string') return pod;
  const settings = pod === undefined ? given : { ...podDefaults, ...given, ...addressOf(object, pod) };
  return 'url' in settings
    ? { settings, values, pod }
    : 'spec.url is missing, or spec.command or spec.image of a server that is to be run';
}

/** Checks settings like those of the configuration file. @returns a text if they are wrong, which says why. */
function checked(
  server: string,
  settings: ObjectSettings['settings'],
  allowedHosts: ReadOptions['allowedHosts'],
): ServerConfig | string {
  const result = loadConfig({
    file: server,
    text: JSON.stringify({ mcpServers: { [server]: settings } }),
    env: {},
    readFile: () => '',
  });
  // Faults that in a file would only keep this one server from being connected to, such as an unset variable, make its object invalid.
  const problems = 'problems' in result ? result.problems : result.faults;
  if ('problems' in result || problems.length > 0)
    return problems
      .map(({ path, message }) => `${path.replace(`mcpServers.${server}`, 'spec')}: ${message}`)
      .join('; ');
  const config = result.config.mcpServers[server] as ServerConfig;
  const problem = forbiddenHost(new URL(String(config.url)).hostname, addressesOf(config, allowedHosts));
  return problem === undefined ? config : `spec.url: the address is not allowed: ${problem}`;
}

/** Where a server of a team may be. The cluster itself gives its Services private addresses; for any other host they need the permission of the operator. */
function addressesOf(
  { url }: ServerConfig,
  allowedHosts: ReadOptions['allowedHosts'],
): NonNullable<ServerConfig['addresses']> {
  return { allowedHosts, isPublicOnly: !isOfCluster(new URL(String(url)).hostname) };
}

/** Whether a host is the name of a Service: no name of the public DNS ends so. */
const isOfCluster = (hostname: string): boolean => /\.svc(\.cluster\.local)?\.?$/i.test(hostname);

/** The values from Secrets, in the order of `secretsOf`. @returns a text where one cannot be read, which says why. */
function secretValues(object: ServerObject, secret: ReadOptions['secret']): string | readonly string[] {
  const values: string[] = [];
  for (const field of ['headersFrom', 'envFrom'] as const) {
    for (const { secretKeyRef } of valuesFrom(object, field)) {
      const found = secret?.(secretKeyRef) ?? {
        problem: 'this gateway reads no Secrets: discovery.kubernetes.secrets is off',
      };
      if ('problem' in found) return `spec.${field}: ${found.problem}`;
      values.push(found.value);
    }
  }
  return values;
}

/** @param secrets values of its environment variables that come from Secrets; headers, which only the gateway sends, are not among them. @returns a text where the object is wrong, which says why. */
function podOf(object: ServerObject, settings: PodSettings, secrets: readonly string[]): Omit<Pod, 'sleepMs'> | string {
  const { spec } = object;
  const {
    command,
    args = [],
    image = settings.commandImage,
    port,
    env = {},
    resources = settings.resources,
    imagePullSecrets = [],
  } = spec as {
    readonly command?: string;
    readonly args?: readonly string[];
    readonly image?: string;
    readonly port?: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly resources?: object;
    readonly imagePullSecrets?: readonly string[];
  };
  const name = podNameOf(object);
  if (name.length > 63) return `metadata.name: "${name}" is too long for a Service, which may have 63 characters`;
  if (image === undefined)
    return 'spec.image is missing: this gateway has no image for commands (discovery.kubernetes.pods.commandImage)';
  if (command === undefined && port === undefined)
    return 'spec.command is missing: what the image runs that speaks MCP on stdin and stdout; or spec.port, where the image serves it over HTTP by itself';
  return {
    name,
    image,
    httpPort: port,
    resources,
    imagePullSecrets,
    command: command === undefined ? [] : [command, ...args],
    env: [
      ...Object.entries(isObject(env) ? env : {}).map(([variable, value]) => ({ name: variable, value })),
      ...valuesFrom(object, 'envFrom').map(({ name: variable, secretKeyRef }) => ({
        name: variable,
        valueFrom: { secretKeyRef: { name: secretKeyRef.name, key: secretKeyRef.key } },
      })),
    ],
    secretsDigest: createHash('sha256').update(JSON.stringify(secrets)).digest('hex').slice(0, 16),
  };
}

function addressOf(
  { namespace, spec: { path = '/mcp' } }: ServerObject,
  { name, httpPort }: Omit<Pod, 'sleepMs'>,
): { readonly url: string } {
  const host = `${name}.${namespace}.svc`;
  if (httpPort === undefined) return { url: `ws://${host}:${exposedPort}/` };
  return { url: `http://${host}:${httpPort}${typeof path === 'string' ? path : '/mcp'}` };
}

function fromService({ namespace, name, spec, annotations }: ServerObject): Record<string, unknown> | string {
  const ports = (spec['ports'] ?? []) as readonly { readonly name?: string; readonly port: number }[];
  const wanted = annotations[annotation.port];
  const port =
    wanted === undefined ? ports[0] : ports.find((each) => each.name === wanted || String(each.port) === wanted);
  if (port === undefined)
    return wanted === undefined
      ? 'the Service has no port'
      : `the Service has no port "${wanted}" (annotation ${annotation.port})`;
  const path = annotations[annotation.path] ?? '/mcp';
  return {
    url: `http://${name}.${namespace}.svc:${port.port}${path.startsWith('/') ? '' : '/'}${path}`,
    ...(annotations[annotation.type] === undefined ? {} : { type: annotations[annotation.type] }),
    ...(annotations[annotation.description] === undefined ? {} : { description: annotations[annotation.description] }),
  };
}
