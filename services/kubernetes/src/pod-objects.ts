/**
 * The Kubernetes objects of an `McpServer` that names a program instead of an address: a ServiceAccount without rights, a NetworkPolicy that admits
 * only the gateway, a Service, and a Deployment. A program that speaks MCP on stdin and stdout is wrapped by `omnibus expose`, which an init
 * container copies next to it, so that any image can be used as it is.
 */
import type { ServerObject } from './server-object.ts';

/** `discovery.kubernetes.pods` of the configuration. */
export interface PodSettings {
  /** Image of this gateway, from which `omnibus expose` is copied. */
  readonly image: string;
  /** Image for an `McpServer` that has a `command` and no `image`. */
  readonly commandImage?: string | undefined;
  /** Number of the user and of the group; null where Kubernetes chooses them. */
  readonly user: number | null;
  readonly imagePullSecrets: readonly string[];
  readonly resources: object;
  /** Peers of a NetworkPolicy that may connect to the pods; empty: all may. */
  readonly from: readonly object[];
  /** Egress rules of a NetworkPolicy: where the pods may connect to. */
  readonly egress: readonly object[];
}

/** The checked spec of the pod of an `McpServer`. */
export interface Pod {
  /** Name of all its objects. */
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Port on which the image itself serves MCP over HTTP; undefined where the program speaks on stdin and stdout. */
  readonly httpPort: number | undefined;
  readonly env: readonly object[];
  readonly resources: object;
  readonly imagePullSecrets: readonly string[];
  /** Changes with the Secrets of its environment, so that its pods are then replaced. */
  readonly secretsDigest: string;
  /** Milliseconds without a call after which there is no pod any more; 0: there is always one. */
  readonly sleepMs: number;
}

export interface PodObject {
  readonly apiVersion: string;
  readonly kind: 'ServiceAccount' | 'NetworkPolicy' | 'Service' | 'Deployment';
  readonly metadata: object;
  readonly spec?: object;
  readonly automountServiceAccountToken?: boolean;
}

/** Port on which `omnibus expose` listens. */
export const exposedPort = 7300;
/** Folder that the init container copies Omnibus to; `omnibus copy` describes its contents. */
const carried = '/omnibus';

/** The objects in the order of their creation: no pod without its NetworkPolicy. */
export function podObjects(
  { namespace, name: owner, uid }: ServerObject,
  pod: Pod,
  settings: PodSettings,
): readonly PodObject[] {
  const { name } = pod;
  const selector = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': 'omnibus' };
  const labels = { ...selector, 'app.kubernetes.io/component': 'mcp-server', 'app.kubernetes.io/part-of': 'omnibus' };
  // By the owner reference, Kubernetes deletes all of them with their McpServer.
  const metadata = {
    name,
    namespace,
    labels,
    ownerReferences: [
      {
        apiVersion: 'omnibus.dev/v1alpha1',
        kind: 'McpServer',
        name: owner,
        uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ],
  };
  const port = pod.httpPort ?? exposedPort;
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          { ...(settings.from.length === 0 ? {} : { from: settings.from }), ports: [{ port, protocol: 'TCP' }] },
        ],
        egress: settings.egress,
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector, ports: [{ name: 'mcp', port, targetPort: 'mcp', protocol: 'TCP' }] },
    },
    {
      // No `replicas`: the number of pods follows from the calls, and is patched separately (`pods.ts`).
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        selector: { matchLabels: selector },
        template: {
          metadata: { labels, annotations: { 'omnibus.dev/secrets': pod.secretsDigest } },
          spec: podSpec(pod, port, settings),
        },
      },
    },
  ];
}

const unprivileged = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

function podSpec(pod: Pod, port: number, settings: PodSettings): object {
  const pullSecrets = [...settings.imagePullSecrets, ...pod.imagePullSecrets].map((name) => ({ name }));
  const tmp = { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } };
  const shared = {
    serviceAccountName: pod.name,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 10,
    securityContext: {
      runAsNonRoot: true,
      ...(settings.user === null
        ? {}
        : { runAsUser: settings.user, runAsGroup: settings.user, fsGroup: settings.user }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
  };
  const containers = [serverContainer(pod, port)];
  if (pod.httpPort !== undefined) return { ...shared, containers, volumes: [tmp] };
  const copy = {
    name: 'omnibus',
    image: settings.image,
    command: ['node', '/app/bin/omnibus.js', 'copy', carried],
    securityContext: unprivileged,
    resources: settings.resources,
    volumeMounts: [{ name: 'omnibus', mountPath: carried }],
  };
  const volumes = [tmp, { name: 'omnibus', emptyDir: { sizeLimit: '512Mi' } }];
  return { ...shared, initContainers: [copy], containers, volumes };
}

/** The command of the image if it serves HTTP itself, else `omnibus expose` in front of it. */
function commandOf({ command, httpPort }: Pod, port: number): object {
  if (httpPort !== undefined) return command.length === 0 ? {} : { command };
  return {
    command: [
      `${carried}/loader`,
      '--library-path',
      `${carried}/lib`,
      `${carried}/node`,
      `${carried}/app/bin/omnibus.js`,
      'expose',
      '--listen',
      `0.0.0.0:${port}`,
      '--',
    ],
    args: command,
  };
}

function serverContainer(pod: Pod, port: number): object {
  const isWrapped = pod.httpPort === undefined;
  const mounts = [{ name: 'tmp', mountPath: '/tmp' }];
  const probe = isWrapped ? { httpGet: { path: '/healthz', port: 'mcp' } } : { tcpSocket: { port: 'mcp' } };
  return {
    name: 'server',
    image: pod.image,
    ...commandOf(pod, port),
    // /tmp is the only folder that can be written; programs keep downloads under HOME.
    env: [{ name: 'HOME', value: '/tmp' }, ...pod.env],
    ports: [{ name: 'mcp', containerPort: port, protocol: 'TCP' }],
    startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 300 },
    readinessProbe: { ...probe, periodSeconds: 5 },
    livenessProbe: { ...probe, periodSeconds: 20, failureThreshold: 3 },
    securityContext: unprivileged,
    resources: pod.resources,
    volumeMounts: isWrapped ? [...mounts, { name: 'omnibus', mountPath: carried, readOnly: true }] : mounts,
  };
}
