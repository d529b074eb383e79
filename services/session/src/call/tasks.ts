/**
 * Tool calls that run as tasks at their servers (2025-11-25 basic/utilities/tasks): for a client that wishes so, and for one that knows no
 * tasks, in whose place the gateway waits for the result.
 */
import { createdTask, withRelatedTask, type ExchangeOutcome, type ProgressEvent, type ServerNotice } from '@omnibus/protocol';
import { placeOf, progressKey, type TaskAddress } from '../public-ids/task-ids.ts';
import type { Carrier } from './carry.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { PublicWords } from './public-words.ts';
import type { Destination } from './route.ts';

/** Tasks whose progress is passed on; the oldest are forgotten. */
const maxFollowed = 100;

export class CallTasks<Stream extends CallStream> {
  readonly #carrier: Carrier<Stream>;
  readonly #words: PublicWords<Stream>;
  readonly #port: Pick<ClientPort<Stream>, 'key' | 'push'>;
  /** Who hears of progress that comes after the call was answered with a task; by `progressKey`. */
  readonly #followed = new Map<string, (event: ProgressEvent) => void>();

  constructor(carrier: Carrier<Stream>, words: PublicWords<Stream>, port: Pick<ClientPort<Stream>, 'key' | 'push'>) {
    this.#carrier = carrier;
    this.#words = words;
    this.#port = port;
  }

  /** The client hears of the task's progress after its call was answered with the task. */
  start(call: ForwardedCall<Stream>, to: Destination): void {
    const { progressToken } = call;
    this.#carrier.carry(call, to, (outcome) => {
      const task = taskOf(outcome);
      if (task !== undefined && progressToken !== undefined) this.#follow(progressKey(to.server, task.taskId, placeOf(outcome)), (event) => this.#words.tellProgress(progressToken, event, { send: (text) => this.#port.push(text) }));
      this.#words.answer(call, to, outcome);
    });
  }

  /** The call is answered with what the task results in. */
  awaitResult(call: ForwardedCall<Stream>, to: Destination): void {
    this.#carrier.carry(call, to, (created) => {
      const task = taskOf(created);
      if (task === undefined) {
        this.#words.answer(call, to, created);
        return;
      }
      const { server, subject, tool } = to;
      const { progressToken, stream } = call;
      const address: TaskAddress = { server, id: task.taskId, owner: this.#port.key, place: placeOf(created), tool };
      const key = progressKey(server, task.taskId, address.place);
      if (progressToken !== undefined) this.#follow(key, (event) => this.#words.tellProgress(progressToken, event, stream));
      this.#carrier.carry({ ...call, method: 'tasks/result' }, { server, subject, params: { taskId: task.taskId }, task: address }, (outcome) => {
        this.#followed.delete(key);
        this.#words.answer(call, to, outcome.kind === 'result' ? { ...outcome, result: withRelatedTask(outcome.result, () => undefined) } : outcome);
      }, () => this.#cancel(address));
    });
  }

  /** Progress of a task whose call was answered already. */
  progressed({ server, taskId, place, tool, progress }: Extract<ServerNotice, { kind: 'task-progress' }>): void {
    this.#followed.get(progressKey(server, taskId, place))?.(this.#words.progress(server, progress, { place, tool }));
  }

  #follow(key: string, hear: (event: ProgressEvent) => void): void {
    this.#followed.set(key, hear);
    if (this.#followed.size > maxFollowed) this.#followed.delete(this.#followed.keys().next().value as string);
  }

  /** Stops work whose result nobody will fetch; whether it worked concerns nobody. */
  #cancel(task: TaskAddress): void {
    this.#carrier.sendOwn({ method: 'tasks/cancel', server: task.server, params: { taskId: task.id }, subject: ['task', task.id], task });
  }
}

function taskOf(outcome: ExchangeOutcome): ReturnType<typeof createdTask> {
  return outcome.kind === 'result' ? createdTask(outcome.result) : undefined;
}
