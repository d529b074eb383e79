/**
 * Task ids towards clients: sealed, so that they lead to their server from any session and work for nobody but the caller
 * they were given to (2025-11-25 basic/utilities/tasks, Task Isolation and Access Control). They name the session or request that
 * created the task, which nobody can guess and which tells two tasks apart to which two programs of one server gave the same id:
 * where callers have no names, a task belongs to whoever holds its id. They name the tool that runs, so that
 * rules are asked for it as they are for its call. And they say where the task is, since each worker may have a
 * program of its own: whoever asks, by whichever worker, is led to the program that made it.
 */
import { createdTask, isObject, withRelatedTask, type ExchangeContext, type ExchangeMethod, type ExchangeOutcome, type JsonObject, type Principal, type ServerName, type SessionKey, type TaskPlace, type WorkerId } from '@omnibus/protocol';
import type { Sealer } from './sealer.ts';

/** A task at its server. */
export interface TaskAddress {
  readonly server: ServerName;
  /** The server's own id. */
  readonly id: string;
  /** The session or request that created it. */
  readonly owner: SessionKey;
  /** Undefined in an id that an older version of the gateway gave. */
  readonly place: TaskPlace | undefined;
  /** What it runs, by the server's own name; empty where nobody knows, and undefined in an id that an older version of the gateway gave. */
  readonly tool: string | undefined;
}

/** Whose tasks are spoken of, where they are and what they run. */
type Tasks = Pick<TaskAddress, 'owner' | 'place' | 'tool'>;

/** Where a page of `tasks/list` begins. */
export interface TaskPage {
  readonly server: ServerName;
  /** The server's own cursor; undefined at its beginning. */
  readonly cursor: string | undefined;
}

export class TaskIds {
  readonly #sealer: Sealer;
  readonly #principal: Principal;
  readonly #of: Tasks;

  /** @param of the session or request that creates tasks, and whose tasks are spoken of. */
  constructor(sealer: Sealer, principal: Principal, of: Tasks) {
    this.#sealer = sealer;
    this.#principal = principal;
    this.#of = of;
  }

  /** The ids of tasks that another session or request created, or that are known to be somewhere. */
  of({ owner = this.#of.owner, place, tool }: Partial<Tasks> = this.#of): TaskIds {
    return owner === this.#of.owner && place === this.#of.place && tool === this.#of.tool ? this : new TaskIds(this.#sealer, this.#principal, { owner, place, tool });
  }

  publish(server: ServerName, id: string): string {
    const { owner, place, tool = '' } = this.#of;
    return this.#sealer.seal('task', JSON.stringify([server, id, this.#principal, owner, place?.worker ?? null, place?.connection ?? '', place?.isProgram ?? false, tool]));
  }

  /** @returns undefined for an id that was not given to this caller. */
  open(publicId: string): TaskAddress | undefined {
    const opened = this.#sealer.open('task', publicId);
    if (opened === undefined) return undefined;
    const [server, id, principal, owner, worker, connection = '', isProgram = false, tool] = JSON.parse(opened) as [ServerName, string, Principal, SessionKey, (WorkerId | null)?, string?, boolean?, string?];
    return principal === this.#principal ? { server, id, owner, place: worker === undefined || worker === null ? undefined : { worker, connection, isProgram }, tool } : undefined;
  }

  publishCursor({ server, cursor }: TaskPage): string {
    return this.#sealer.seal('task-cursor', JSON.stringify([server, cursor ?? null, this.#principal]));
  }

  openCursor(sealed: string): TaskPage | undefined {
    const opened = this.#sealer.open('task-cursor', sealed);
    if (opened === undefined) return undefined;
    const [server, cursor, principal] = JSON.parse(opened) as [ServerName, string | null, Principal];
    return principal === this.#principal ? { server, cursor: cursor ?? undefined } : undefined;
  }

  /** A task object under its public id. */
  publicTask(server: ServerName, task: JsonObject): JsonObject {
    return typeof task['taskId'] === 'string' ? { ...task, taskId: this.publish(server, task['taskId']) } : task;
  }

  /** Parameters of a server's message with the task they mention under its public id. */
  publicMention(server: ServerName, value: JsonObject): JsonObject {
    return withRelatedTask(value, (id) => this.publish(server, id));
  }

  /** What a client sends back, with the task it mentions under the server's own id. */
  originalMention(value: JsonObject): JsonObject {
    return withRelatedTask(value, (id) => this.open(id)?.id);
  }

  /** A result with every task id in it made public. @param tools what each task of a list runs. */
  publicResult(method: ExchangeMethod, server: ServerName, result: JsonObject, tools?: readonly string[]): JsonObject {
    switch (method) {
      case 'tools/call': {
        if (result['resultType'] === 'task') return this.publicTask(server, result);
        const task = createdTask(result);
        return task === undefined ? this.publicMention(server, result) : { ...this.publicMention(server, result), task: this.publicTask(server, task) };
      }
      case 'tasks/get':
      case 'tasks/cancel':
        return this.publicTask(server, result);
      case 'tasks/list':
        return { ...result, tasks: Array.isArray(result['tasks']) ? result['tasks'].filter(isObject).map((task, index) => this.of({ ...this.#of, tool: tools?.[index] }).publicTask(server, task)) : [] };
      default:
        return this.publicMention(server, result);
    }
  }
}

/** What an adapter is told of the task a request is about. */
export function inContext(task: TaskAddress | undefined): Pick<ExchangeContext, 'taskOwner' | 'taskPlace'> {
  return task === undefined ? {} : { taskOwner: task.owner, ...(task.place === undefined ? {} : { taskPlace: task.place }) };
}

export function placeOf(outcome: ExchangeOutcome): TaskPlace | undefined {
  return outcome.kind === 'result' ? outcome.place : undefined;
}

/** What tells a task from one to which another program of the server gave the same id. */
export function progressKey(server: ServerName, taskId: string, place: TaskPlace | undefined): string {
  return `${server} ${place?.connection} ${taskId}`;
}
