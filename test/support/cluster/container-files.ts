/** The files and variables of a container: what its volumes, Secrets and token are on this machine. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import type { Container, Image, PodSpec, Volume } from './pod-types.ts';

/** A pod as its containers see it. */
export interface Placed {
  readonly api: Cluster;
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
  readonly spec: PodSpec;
  /** Folder of this machine for the files of the pod. */
  readonly folder: string;
  /** The file with the names of the cluster. */
  readonly hosts: string;
}

const tokenFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Paths of this machine that every program needs. */
const system = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/etc/ssl',
  '/etc/passwd',
  '/etc/group',
  '/etc/nsswitch.conf',
];

/** All pods share the network of this machine, so a program that listens at every address gets that of its pod. */
const ownAddress = (text: string, address: string): string => text.replaceAll('0.0.0.0:', `${address}:`);

/** The command by which bubblewrap runs a container: read-only but for its volumes, as its user, with no other variables. */
export async function commandOf(pod: Placed, container: Container, image: Image): Promise<readonly string[]> {
  const { spec, hosts } = pod;
  const binds = [
    ...system.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--dev', '/dev', '--proc', '/proc', '--ro-bind', hosts, '/etc/hosts'],
    ...image.contents.flatMap(([from, path]) => ['--ro-bind', from, path]),
  ];
  for (const { name, mountPath, readOnly } of container.volumeMounts ?? []) {
    const volume = spec.volumes?.find((each) => each.name === name);
    if (volume === undefined) throw new Error(`${pod.name} mounts the volume "${name}", which it does not have`);
    binds.push(readOnly === true ? '--ro-bind' : '--bind', await folderOf(pod, volume), mountPath);
  }
  if (spec.automountServiceAccountToken !== false) binds.push('--ro-bind', await tokenOf(pod), tokenFolder);
  const variables = await variablesOf(pod, container, image);
  const { runAsUser = 0, runAsGroup = 0 } = spec.securityContext ?? {};
  const expanded = (words: readonly string[]): string[] =>
    words.map((word) => ownAddress(expand(word, variables), pod.address));
  return [
    ...['bwrap', '--die-with-parent', '--unshare-user', '--uid', String(runAsUser), '--gid', String(runAsGroup)],
    ...binds,
    ...['--remount-ro', '/', '--chdir', '/', '--clearenv'],
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    '--',
    ...expanded(container.command ?? image.entry),
    ...expanded(container.args ?? image.args),
  ];
}

async function variablesOf(pod: Placed, { env = [] }: Container, image: Image): Promise<Record<string, string>> {
  const variables: Record<string, string> = { PATH: '/opt/bin:/usr/bin:/usr/sbin:/bin', ...image.env };
  if (pod.api.address !== undefined) {
    const { hostname, port } = new URL(pod.api.address);
    Object.assign(variables, { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port });
  }
  for (const { name, value = '', valueFrom } of env) {
    const { secretKeyRef, fieldRef } = valueFrom ?? {};
    if (secretKeyRef !== undefined) {
      const entry = (await dataOf(pod, 'secrets', secretKeyRef.name)).get(secretKeyRef.key);
      if (entry === undefined) throw new Error(`the Secret ${secretKeyRef.name} has no "${secretKeyRef.key}"`);
      variables[name] = entry;
    } else if (fieldRef === undefined) variables[name] = ownAddress(expand(value, variables), pod.address);
    else if (fieldRef.fieldPath === 'metadata.name') variables[name] = pod.name;
    else throw new Error(`no pod has the field ${fieldRef.fieldPath} here`);
  }
  return variables;
}

/** Replaces `$(NAME)` as Kubernetes does. */
function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\(([^)]+)\)/g, (given, name: string) => variables[name] ?? given);
}

/** The entries of a ConfigMap or Secret as texts. */
async function dataOf(
  { api, namespace }: Placed,
  kind: 'configmaps' | 'secrets',
  name: string,
): Promise<ReadonlyMap<string, string>> {
  const { data = {} } = await api.get<{ readonly data?: Readonly<Record<string, string>> }>(
    `/api/v1/namespaces/${namespace}/${kind}/${name}`,
  );
  return new Map(
    Object.entries(data).map(([key, value]) => [
      key,
      kind === 'secrets' ? Buffer.from(value, 'base64').toString() : value,
    ]),
  );
}

/** The folder of a volume, with its files. */
async function folderOf(pod: Placed, volume: Volume): Promise<string> {
  const folder = join(pod.folder, 'volumes', volume.name);
  await mkdir(folder, { recursive: true });
  const { configMap, secret } = volume;
  if (configMap !== undefined)
    for (const [name, text] of await dataOf(pod, 'configmaps', configMap.name))
      await writeFile(join(folder, name), ownAddress(text, pod.address));
  if (secret !== undefined) {
    const data = await dataOf(pod, 'secrets', secret.secretName);
    for (const { key, path } of secret.items ?? [...data.keys()].map((each) => ({ key: each, path: each }))) {
      const text = data.get(key);
      if (text === undefined) throw new Error(`the Secret ${secret.secretName} has no "${key}"`);
      await writeFile(join(folder, path), text);
    }
  }
  return folder;
}

/** The folder with the token of the pod's service account. */
async function tokenOf({ api, namespace, spec, folder }: Placed): Promise<string> {
  const made = join(folder, 'token');
  await mkdir(made, { recursive: true });
  const { serviceAccountName = 'default' } = spec;
  await writeFile(join(made, 'token'), await api.tokenOf(namespace, serviceAccountName));
  await writeFile(join(made, 'namespace'), namespace);
  await writeFile(join(made, 'ca.crt'), await api.authority());
  return made;
}
