/**
 * Tool calls that run as tasks at their servers (2025-11-25 basic/utilities/tasks): for a client that asks for a task, and for one that does not
 * support tasks, and the gateway waits for the result in their place.
 */
import { setLast } from '@omnibus/collections';
import {
  createdTask,
  withRelatedTask,
  type ExchangeOutcome,
  type ProgressEvent,
  type ServerNotice,
} from '@omnibus/protocol';
import { placeOf, progressKey, type TaskAddress } from '../public-ids/task-ids.ts';
import type { Carrier } from './carry.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { PublicMessages } from './public-messages.ts';
import type { Destination } from './plan.ts';

/** Bound on tasks with forwarded progress; the oldest are forgotten. */
const maxFollowed = 100;

export class CallTasks<Stream extends CallStream> {
  readonly #carrier: Carrier<Stream>;
  readonly #messages: PublicMessages<Stream>;
  readonly #port: Pick<ClientPort<Stream>, 'key' | 'push'>;
  /** Receivers of progress that comes after the call was answered with a task; by `progressKey`. */
  readonly #followed = new Map<string, (event: ProgressEvent) => void>();

  constructor(
    carrier: Carrier<Stream>,
    messages: PublicMessages<Stream>,
    port: Pick<ClientPort<Stream>, 'key' | 'push'>,
  ) {
    this.#carrier = carrier;
    this.#messages = messages;
    this.#port = port;
  }

  /** Sends a call that the client wants to run as a task; progress of the task is passed on after the call was answered. */
  start(call: ForwardedCall<Stream>, to: Destination): void {
    const { progressToken } = call;
    this.#carrier.carry(call, to, (outcome) => {
      const task = taskOf(outcome);
      if (task !== undefined && progressToken !== undefined)
        this.#follow(progressKey(to.server, task.taskId, placeOf(outcome)), (event) =>
          this.#messages.tellProgress(progressToken, event, { send: (text) => this.#port.push(text) }),
        );
      this.#messages.answer(call, to, outcome);
    });
  }

  /** Sends a call as a task, and answers it with the result of the task. */
  awaitResult(call: ForwardedCall<Stream>, to: Destination): void {
    this.#carrier.carry(call, to, (created) => {
      const task = taskOf(created);
      if (task === undefined) {
        this.#messages.answer(call, to, created);
        return;
      }
      const { server, subject, tool } = to;
      const { progressToken, stream } = call;
      const address: TaskAddress = { server, id: task.taskId, owner: this.#port.key, place: placeOf(created), tool };
      const key = progressKey(server, task.taskId, address.place);
      if (progressToken !== undefined)
        this.#follow(key, (event) => this.#messages.tellProgress(progressToken, event, stream));
      this.#carrier.carry(
        { ...call, method: 'tasks/result' },
        { server, subject, params: { taskId: task.taskId }, task: address },
        (outcome) => {
          this.#followed.delete(key);
          this.#messages.answer(
            call,
            to,
            outcome.kind === 'result'
              ? { ...outcome, result: withRelatedTask(outcome.result, () => undefined) }
              : outcome,
          );
        },
        () => this.#cancel(address),
      );
    });
  }

  /** Passes on progress of a task after the answer to its call. */
  progressed({ server, taskId, place, tool, progress }: Extract<ServerNotice, { kind: 'task-progress' }>): void {
    this.#followed.get(progressKey(server, taskId, place))?.(
      this.#messages.progress(server, progress, { place, tool }),
    );
  }

  #follow(key: string, hear: (event: ProgressEvent) => void): void {
    setLast(this.#followed, key, hear, maxFollowed);
  }

  /** Cancels a task with an unneeded result; the outcome of that is ignored. */
  #cancel(task: TaskAddress): void {
    this.#carrier.sendOwn({
      method: 'tasks/cancel',
      server: task.server,
      params: { taskId: task.id },
      subject: ['task', task.id],
      task,
    });
  }
}

function taskOf(outcome: ExchangeOutcome): ReturnType<typeof createdTask> {
  return outcome.kind === 'result' ? createdTask(outcome.result) : undefined;
}
