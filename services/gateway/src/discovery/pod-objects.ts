/**
 * What Kubernetes is asked to run for an `McpServer` that names a program instead of an address: an account that may do nothing, a policy that lets
 * only the gateway in, a Service, and a Deployment. A program that speaks MCP on stdin and stdout is wrapped by `omnibus expose`, which is carried
 * into its image by a container that runs before it: so every image will do, and nobody has to build one for us.
 */
import type { ServerObject } from './objects.ts';

/** Of the configuration: how pods are made. */
export interface PodSettings {
  /** Of this gateway: what wraps a program is taken from it. */
  readonly image: string;
  /** What a `command` runs in that names no image. */
  readonly commandImage?: string | undefined;
  readonly imagePullSecrets: readonly string[];
  readonly resources: object;
  /** Who may connect to them, as peers of a NetworkPolicy; none: nobody is kept out. */
  readonly from: readonly object[];
  /** Where they may connect to, as rules of a NetworkPolicy. */
  readonly egress: readonly object[];
}

/** What an `McpServer` says of its pod, checked. */
export interface Pod {
  /** Of all its objects. */
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Where its image serves HTTP by itself; undefined where the program speaks on stdin and stdout. */
  readonly httpPort: number | undefined;
  readonly env: readonly object[];
  readonly resources: object;
  readonly imagePullSecrets: readonly string[];
  /** Changes when a Secret of its environment does, so that its pods are replaced. */
  readonly secretsDigest: string;
  /** Milliseconds without a call after which no pod is kept; 0: one is kept always. */
  readonly sleepMs: number;
}

export interface PodObject {
  readonly apiVersion: string;
  readonly kind: 'ServiceAccount' | 'NetworkPolicy' | 'Service' | 'Deployment';
  readonly metadata: object;
  readonly spec?: object;
  readonly automountServiceAccountToken?: boolean;
}

/** Where `omnibus expose` listens. */
export const exposedPort = 7300;
/** Where it is carried to; `omnibus copy` says what is where. */
const carried = '/omnibus';
const user = 1000;

/** In the order in which they are to be made: no pod without its policy. */
export function podObjects({ namespace, name: owner, uid }: ServerObject, pod: Pod, settings: PodSettings): readonly PodObject[] {
  const { name } = pod;
  const selector = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': 'omnibus' };
  const labels = { ...selector, 'app.kubernetes.io/component': 'mcp-server', 'app.kubernetes.io/part-of': 'omnibus' };
  // With the McpServer, Kubernetes takes away all that was made for it.
  const metadata = { name, namespace, labels, ownerReferences: [{ apiVersion: 'omnibus.dev/v1alpha1', kind: 'McpServer', name: owner, uid, controller: true, blockOwnerDeletion: false }] };
  const port = pod.httpPort ?? exposedPort;
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    {
      apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata,
      spec: {
        podSelector: { matchLabels: selector }, policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ...(settings.from.length === 0 ? {} : { from: settings.from }), ports: [{ port, protocol: 'TCP' }] }], egress: settings.egress,
      },
    },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector, ports: [{ name: 'mcp', port, targetPort: 'mcp', protocol: 'TCP' }] } },
    {
      // How many there are follows from who calls the server, and is said apart.
      apiVersion: 'apps/v1', kind: 'Deployment', metadata,
      spec: { selector: { matchLabels: selector }, template: { metadata: { labels, annotations: { 'omnibus.dev/secrets': pod.secretsDigest } }, spec: podSpec(pod, port, settings) } },
    },
  ];
}

function podSpec(pod: Pod, port: number, settings: PodSettings): object {
  const isWrapped = pod.httpPort === undefined;
  const securityContext = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
  const mounts = [{ name: 'tmp', mountPath: '/tmp' }];
  const { command, image, env } = pod;
  const pullSecrets = [...settings.imagePullSecrets, ...pod.imagePullSecrets].map((name) => ({ name }));
  const probe = isWrapped ? { httpGet: { path: '/healthz', port: 'mcp' } } : { tcpSocket: { port: 'mcp' } };
  return {
    serviceAccountName: pod.name, automountServiceAccountToken: false, enableServiceLinks: false, terminationGracePeriodSeconds: 10,
    securityContext: { runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user, seccompProfile: { type: 'RuntimeDefault' } },
    ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
    ...(isWrapped ? { initContainers: [{
      name: 'omnibus', image: settings.image, command: ['node', '/app/bin/omnibus.js', 'copy', carried],
      securityContext, resources: settings.resources, volumeMounts: [{ name: 'omnibus', mountPath: carried }],
    }] } : {}),
    containers: [{
      name: 'server', image,
      ...(isWrapped ? { command: [`${carried}/loader`, '--library-path', `${carried}/lib`, `${carried}/node`, `${carried}/app/bin/omnibus.js`, 'expose', '--listen', `0.0.0.0:${port}`, '--'], args: command } : command.length === 0 ? {} : { command }),
      // Where programs keep what they download; nothing else can be written.
      env: [{ name: 'HOME', value: '/tmp' }, ...env],
      ports: [{ name: 'mcp', containerPort: port, protocol: 'TCP' }],
      startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 300 },
      readinessProbe: { ...probe, periodSeconds: 5 },
      livenessProbe: { ...probe, periodSeconds: 20, failureThreshold: 3 },
      securityContext, resources: pod.resources,
      volumeMounts: isWrapped ? [...mounts, { name: 'omnibus', mountPath: carried, readOnly: true }] : mounts,
    }],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } }, ...(isWrapped ? [{ name: 'omnibus', emptyDir: { sizeLimit: '512Mi' } }] : [])],
  };
}
