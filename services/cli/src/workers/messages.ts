/** Messages between the supervisor and its workers, over the channel that Node opens to a child process. Those of the bus go over a pipe of their own. */
import type { Reloaded } from '@omnibus/admin';
import type { CatalogRecord } from '@omnibus/protocol';
import type { MetricsSnapshot } from '@omnibus/telemetry';

/** The place of the pipe to the hub among the file descriptors of a worker, after stdin, stdout, stderr and the channel of these messages. */
export const pipeDescriptor = 4;

/** Format of these messages and of the frames on the pipe. It changes only when a supervisor and a worker of two versions could not work together. */
export const format = 1;

/**
 * A supervisor starts its workers from the files of its package, which may be of another version by then: after an upgrade in place, it runs on.
 * @param spoken by the supervisor.
 * @returns why a worker of this version cannot serve it, in words for the operator; undefined if it can.
 */
export function formatProblem(spoken: number, own = format): string | undefined {
  return spoken === own
    ? undefined
    : `the files of Omnibus were replaced while it runs, and a worker of the new version cannot serve the running supervisor (format ${spoken} of their messages, the worker has ${own}): restart omnibus serve`;
}

export interface WorkerStart {
  readonly kind: 'start';
  /** See `format`. */
  readonly format: number;
  /** From 0; of the servers with programs, each belongs to one slot. */
  readonly slot: number;
  readonly slots: number;
  /** Names the process among those of the gateway. */
  readonly name: string;
  /** The sealing keys that all workers share, as `parseSealingKeys` reads them. */
  readonly sealingKeys: string;
}

/** The questions to a worker, and their answers. */
export interface Answers {
  readonly reload: Reloaded;
  readonly metrics: MetricsSnapshot;
  readonly records: readonly CatalogRecord[];
}
export type QuestionKind = keyof Answers;

export type ToWorker =
  | WorkerStart
  | { readonly kind: 'ask'; readonly question: QuestionKind; readonly number: number }
  /** `leaveMs`: how long clients have to connect to another worker. */
  | { readonly kind: 'stop'; readonly leaveMs: number };

export type FromWorker =
  | { readonly kind: 'listening'; readonly endpoint: string | undefined; readonly stopMs: number }
  /** All its servers are settled. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly number: number; readonly body: Answers[QuestionKind] };
