import type { Measured } from './subjects.ts';

export function startRivals(_upstream: string): Promise<Measured[]> {
  return Promise.resolve([]);
}
