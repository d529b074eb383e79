/** Makes the backend with the features of its servers. */
import { Backend, type BackendOptions } from './backend.ts';
import { serverFeatures } from './features/index.ts';

export function createBackend(options: Omit<BackendOptions, 'features'>): Backend {
  return new Backend({ ...options, features: serverFeatures });
}
