/**
 * Follows a task of the tasks extension for an older client that called a tool which runs only as a task: the gateway asks the client for the task's inputs,
 * and answers the call with the task's result.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  isInputMethod,
  isObject,
  numberOf,
  tasksExtension,
  type ExchangeMethod,
  type ExchangeOutcome,
  type InputAnswer,
  type InputMethod,
  type JsonObject,
  type JsonRpcErrorObject,
} from '@omnibus/protocol';
import { questionParams, refusal, responseOf } from './rounds.ts';

export interface TaskDriveOptions {
  /** The answer to the call, which names the task. */
  readonly created: JsonObject;
  readonly method: ExchangeMethod;
  readonly wheel: DeadlineWheel;
  readonly request: (method: string, params: JsonObject) => Promise<ExchangeOutcome>;
  readonly ask: (method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void) => void;
  /** Whether the call was cancelled or has ended otherwise. */
  readonly isOver: () => boolean;
  /** Goes on after a wait. A wait that fails, or a continuation that throws, ends the call alone. */
  readonly after: <Got>(wait: Promise<Got>, goOn: (got: Got) => void) => void;
  /** Reports that the task is being worked on. @param message its own status message. */
  readonly progress: (message: string | undefined) => void;
  readonly finish: (outcome: ExchangeOutcome) => void;
}

const minPollMs = 50;
const maxPollMs = 5_000;
const defaultPollMs = 500;

export function driveTask(options: TaskDriveOptions): void {
  const { method, wheel, request, ask, isOver, after, progress, finish } = options;
  const { taskId } = options.created;
  /** Keys of sent questions; each is sent once in the life of a task. */
  const asked = new Set<string>();

  const poll = (task: JsonObject): void => {
    const pollIntervalMs = numberOf(task['pollIntervalMs']);
    const delay =
      pollIntervalMs !== undefined ? Math.min(Math.max(pollIntervalMs, minPollMs), maxPollMs) : defaultPollMs;
    wheel.schedule(delay, () => {
      if (isOver()) void request('tasks/cancel', { taskId });
      else after(request('tasks/get', { taskId }), look);
    });
  };

  const look = (outcome: ExchangeOutcome): void => {
    if (isOver()) {
      void request('tasks/cancel', { taskId });
      return;
    }
    if (outcome.kind !== 'result') {
      finish(outcome);
      return;
    }
    const { status, statusMessage, result, error, inputRequests } = outcome.result;
    if (status === 'completed' && isObject(result)) finish({ kind: 'result', result });
    else if (status === 'failed' && isObject(error)) finish({ kind: 'error', error: errorOf(error) });
    else if (status === 'completed' || status === 'failed' || status === 'cancelled')
      finish({
        kind: 'error',
        error: {
          code: -32_603,
          message: `the task ended ${status}${typeof statusMessage === 'string' ? `: ${statusMessage}` : ''}`,
        },
      });
    else {
      progress(typeof statusMessage === 'string' ? statusMessage : undefined);
      if (isObject(inputRequests)) askAll(inputRequests);
      poll(outcome.result);
    }
  };

  const askAll = (requests: JsonObject): void => {
    for (const [key, wanted] of Object.entries(requests)) {
      if (asked.has(key) || !isObject(wanted) || !isInputMethod(wanted['method'])) continue;
      asked.add(key);
      const kind = wanted['method'] as InputMethod;
      ask(kind, questionParams(wanted['params']), (answer) => {
        const response = responseOf(kind, answer);
        if (response !== undefined) void request('tasks/update', { taskId, inputResponses: { [key]: response } });
        else {
          void request('tasks/cancel', { taskId });
          finish(refusal(method, kind, answer));
        }
      });
    }
  };

  poll(options.created);
}

/** The error of a failed task, as far as it is a valid JSON-RPC error. */
function errorOf({ code, message, data }: JsonObject): JsonRpcErrorObject {
  return {
    code: numberOf(code) ?? -32_603,
    message: typeof message === 'string' ? message : 'the task failed',
    ...(data === undefined ? {} : { data }),
  };
}

/** Whether a refusal says that the tool runs as a task only. */
export function needsTaskExtension({ data }: JsonRpcErrorObject): boolean {
  const required = isObject(data) ? data['requiredCapabilities'] : undefined;
  const extensions = isObject(required) ? required['extensions'] : undefined;
  return isObject(extensions) && tasksExtension in extensions;
}

export function withTaskExtension(capabilities: JsonObject): JsonObject {
  const { extensions } = capabilities;
  return { ...capabilities, extensions: { ...(isObject(extensions) ? extensions : {}), [tasksExtension]: {} } };
}
