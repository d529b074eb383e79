export { KubernetesDiscovery } from './kubernetes.ts';
export type { Discovered, KubernetesDiscoveryOptions, ServersHere } from './kubernetes.ts';
