/** The parts of manifests that the stand-in for a node reads. */

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: number | string };
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: {
    readonly secretName: string;
    readonly items?: readonly { readonly key: string; readonly path: string }[];
  };
  readonly emptyDir?: object;
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

export interface PodSpec {
  readonly containers: readonly [Container];
  readonly volumes?: readonly Volume[];
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number };
}

/** A Deployment, StatefulSet or Job. */
export interface Workload {
  readonly metadata: Metadata;
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly template: { readonly metadata: Metadata; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: Metadata }[];
  };
}

export interface Service {
  readonly metadata: Metadata;
  readonly spec: {
    readonly clusterIP?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports: readonly { readonly port: number; readonly targetPort: number | string }[];
  };
}

/** The contents of an image, as programs and folders of this machine. */
export interface Image {
  /** The name of the image, before its tag. */
  readonly name: string;
  readonly entry: readonly string[];
  /** Arguments where the manifest has none. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Folders and files of this machine, and their paths in the image. */
  readonly contents: readonly (readonly [from: string, path: string])[];
}
