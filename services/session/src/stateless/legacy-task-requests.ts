/** Requests about tasks of an older server, and those that stay open because a task needs input (`legacy-tasks.ts`). */
import type { Caller, ExchangeEvent } from '@omnibus/protocol';
import type { Exchange } from '../call/exchange.ts';
import type { CallScreen } from '../call/transform.ts';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { PendingReply } from './pending-reply.ts';
import type { KeptCall } from './kept-calls.ts';

export type Input = Extract<ExchangeEvent, { kind: 'input' }>;

/** A request about a task that waits for the server. */
export interface TaskRequest {
  readonly waiter: PendingReply;
  readonly task: TaskAddress;
  /** Redacts its messages and applies guardrails; undefined where there is nothing to check. */
  readonly screen: CallScreen | undefined;
  /** Called when it was answered, or its client has disconnected. */
  readonly over: () => void;
  /** The request to the server; undefined while none is open. */
  exchange: Exchange | undefined;
}

/** A `tasks/result` that stays open because the task needs input. */
export interface TaskWatch extends KeptCall {
  /** The first request of it. */
  readonly begun: PendingReply;
  readonly task: TaskAddress;
  readonly exchange: Exchange;
  readonly questions: Map<string, Input>;
  /** Callbacks for when the first question is there, or the task has gone on without one. */
  readonly asked: Set<() => void>;
}

/** The memory of a watch: its questions, and the request with which it began. */
export function sizeOf({ questions, begun }: Pick<TaskWatch, 'questions' | 'begun'>): number {
  return JSON.stringify([begun.command.request, ...questions.values()]).length;
}

export function nameOf({ waiter, task: { server, id, owner } }: TaskRequest): string {
  const { principal }: Caller = waiter.command.caller;
  return JSON.stringify([server, id, owner, principal]);
}
