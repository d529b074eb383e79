/** The part of the official Kubernetes client that discovery uses. */
import { readFileSync } from 'node:fs';
import type {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer as MakeInformerFunction,
  NetworkingV1Api,
} from '@kubernetes/client-node';

type MakeInformer = typeof MakeInformerFunction;
/** Request options that say which kind of patch a body is. */
export type PatchKind = Parameters<CustomObjectsApi['patchNamespacedCustomObjectStatus']>[1];

export interface KubernetesClient {
  readonly kubeConfig: KubeConfig;
  readonly custom: CustomObjectsApi;
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly networking: NetworkingV1Api;
  readonly makeInformer: MakeInformer;
  readonly mergePatch: PatchKind;
  /** Server-side apply. */
  readonly applyPatch: PatchKind;
}

/** @throws {Error} when there is no cluster to be found: neither a service account nor a kubeconfig. */
export async function openClient(): Promise<KubernetesClient> {
  // The client library is imported here because it is large, and most gateways run without it.
  const {
    AppsV1Api: Apps,
    CoreV1Api: Core,
    CustomObjectsApi: Custom,
    KubeConfig: Config,
    makeInformer,
    NetworkingV1Api: Networking,
    PatchStrategy,
    setHeaderOptions,
  } = await import('@kubernetes/client-node');
  const kubeConfig = new Config();
  kubeConfig.loadFromDefault();
  if (kubeConfig.getCurrentCluster() === null)
    throw new Error('discovery.kubernetes: there is no cluster; run in one, or give a KUBECONFIG');
  return {
    kubeConfig,
    makeInformer,
    custom: kubeConfig.makeApiClient(Custom),
    core: kubeConfig.makeApiClient(Core),
    apps: kubeConfig.makeApiClient(Apps),
    networking: kubeConfig.makeApiClient(Networking),
    mergePatch: setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    applyPatch: setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
  };
}

const namespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace of this pod, else of the kubeconfig's context. */
export function ownNamespace(kubeConfig: KubeConfig): string {
  try {
    return readFileSync(namespaceFile, 'utf8').trim();
  } catch {
    return kubeConfig.getContextObject(kubeConfig.getCurrentContext())?.namespace ?? 'default'; // Not in a cluster.
  }
}

/** The message of the API server, without the wrapping of the client library. */
export function messageOf(error: unknown): string {
  const { body } = error as { readonly body?: unknown };
  try {
    return (JSON.parse(String(body)) as { readonly message: string }).message;
  } catch {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The HTTP status with which the API server refused a request. */
export function codeOf(error: unknown): number | undefined {
  return (error as { readonly code?: number }).code;
}
