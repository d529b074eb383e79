/** Makes a session worker with its features. */
import { sessionFeatures, type FeatureOptions } from './features/index.ts';
import { SessionWorker, type SessionWorkerOptions } from './worker.ts';

export function createSessionWorker(
  options: FeatureOptions & Omit<SessionWorkerOptions, 'features'>,
): Promise<SessionWorker> {
  return SessionWorker.create({ ...options, features: (of) => sessionFeatures(options, of) });
}
