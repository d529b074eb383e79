/** Decides about a call whose session worker is gone, after backend workers were asked for it. */
import type { SeenState, WorkerId } from '@omnibus/protocol';

export interface AskedBackend {
  readonly worker: WorkerId;
  /** Undefined if the worker is gone, or did not answer. */
  readonly state: SeenState | undefined;
}

/** The answers of all backend workers together; `at` is the worker that has the call, undefined if none says so and one may have had it. */
export type Found = 'never' | { readonly at: WorkerId | undefined };

/**
 * Invariant T3: it finds `never` only if every backend worker that existed since an edge accepted the call has said so.
 * @param asked the answers so far.
 * @param isComplete whether these are the answers of every worker that may have the call.
 * @returns undefined if the answers of further workers are needed. The outcome of a cancelled call is unknown: its old owner may have cancelled it. A client
 * ignores the answer to a call that it has cancelled itself (2025-11-25 basic/utilities/cancellation).
 */
export function afterAsking(asked: readonly AskedBackend[], isComplete: boolean): Found | undefined {
  const holder = asked.find(({ state }) => state === 'running' || state === 'answered');
  if (holder !== undefined) return { at: holder.worker };
  if (!isComplete) return undefined;
  return asked.every(({ state }) => state === 'never') ? 'never' : { at: undefined };
}
