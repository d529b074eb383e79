/** When API keys were last accepted, of all processes that check them. Each keeps this in memory since its start. */
import { z } from 'zod';
import type { AllProcesses } from './all-processes.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';

const usesSaid = z.object({ uses: z.record(z.string(), z.number()) });

export function keyUseQuestions(authenticator: ApiOptions['authenticator']): Readonly<Record<string, Question>> {
  return { 'key-uses': () => ({ uses: Object.fromEntries(authenticator()?.keyUses() ?? []) }) };
}

/** Milliseconds since 1970, by the ids of keys. A process that does not answer is left out. */
export async function keyUsesOf(all: Pick<AllProcesses, 'assembly' | 'bus'>): Promise<ReadonlyMap<string, number>> {
  // Without a bus no process can be asked; the keys are in a file, and are listed without their uses.
  if (all.bus === undefined) return new Map();
  const { said } = await all.assembly.ask('key-uses', {}, usesSaid);
  const latest = new Map<string, number>();
  for (const { body } of said)
    for (const [id, at] of Object.entries(body.uses)) latest.set(id, Math.max(at, latest.get(id) ?? 0));
  return latest;
}
