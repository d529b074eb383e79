/**
 * Public task ids. They are sealed, so that they name their server from any session and work only for their caller
 * (2025-11-25 basic/utilities/tasks, Task Isolation and Access Control). They contain the session or request that created the task, which
 * distinguishes tasks to which two programs of one server gave the same id. For anonymous callers, only the id gives access: sealed, it cannot be
 * guessed. They contain the tool, so that rules apply to requests about the task as to its call. And they contain the place of the task, since each
 * worker may have its own program: a request at any worker reaches the program that made the task.
 */
import {
  createdTask,
  isObject,
  withRelatedTask,
  type ExchangeContext,
  type ExchangeMethod,
  type ExchangeOutcome,
  type JsonObject,
  type Principal,
  type ServerName,
  type SessionKey,
  type TaskPlace,
  type WorkerId,
} from '@omnibus/protocol';
import type { Sealer } from './sealer.ts';

/** A task at its server. */
export interface TaskAddress {
  readonly server: ServerName;
  /** The server's own id. */
  readonly id: string;
  /** The session or request that created it. */
  readonly owner: SessionKey;
  readonly place: TaskPlace | undefined;
  /** The server's own name of the tool that it runs; undefined if that is unknown. */
  readonly tool: string | undefined;
}

/** Owner, place and tool of tasks. */
type Tasks = Pick<TaskAddress, 'owner' | 'place' | 'tool'>;

/** The beginning of a page of `tasks/list`. */
export interface TaskPage {
  readonly server: ServerName;
  /** The server's own cursor; undefined for its first page. */
  readonly cursor: string | undefined;
}

export class TaskIds {
  readonly #sealer: Sealer;
  readonly #principal: Principal;
  readonly #of: Tasks;

  /** @param of owner, place and tool of the tasks. */
  constructor(sealer: Sealer, principal: Principal, of: Tasks) {
    this.#sealer = sealer;
    this.#principal = principal;
    this.#of = of;
  }

  /** The same for tasks of another owner, place or tool. */
  of({ owner = this.#of.owner, place, tool }: Partial<Tasks> = this.#of): TaskIds {
    return owner === this.#of.owner && place === this.#of.place && tool === this.#of.tool
      ? this
      : new TaskIds(this.#sealer, this.#principal, { owner, place, tool });
  }

  publish(server: ServerName, id: string): string {
    const { owner, place, tool } = this.#of;
    return this.#sealer.seal(
      'task',
      JSON.stringify([
        server,
        id,
        this.#principal,
        owner,
        place?.worker ?? null,
        place?.connection ?? '',
        place?.isProgram ?? false,
        tool ?? null,
      ]),
    );
  }

  /** Opens a public id. @returns undefined for one that was not given to this caller. */
  open(publicId: string): TaskAddress | undefined {
    const opened = this.#sealer.open('task', publicId);
    if (opened === undefined) return undefined;
    const [server, id, principal, owner, worker, connection, isProgram, tool] = JSON.parse(opened) as [
      ServerName,
      string,
      Principal,
      SessionKey,
      WorkerId | null,
      string,
      boolean,
      string | null,
    ];
    return principal === this.#principal
      ? {
          server,
          id,
          owner,
          place: worker === null ? undefined : { worker, connection, isProgram },
          tool: tool ?? undefined,
        }
      : undefined;
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

  /** A task object with its public id. */
  publicTask(server: ServerName, task: JsonObject): JsonObject {
    return typeof task['taskId'] === 'string' ? { ...task, taskId: this.publish(server, task['taskId']) } : task;
  }

  /** Replaces the task id in `_meta` of a server's message by the public one. */
  publicMention(server: ServerName, value: JsonObject): JsonObject {
    return withRelatedTask(value, (id) => this.publish(server, id));
  }

  /** Replaces the public task id in `_meta` of a client's message by the server's own. */
  originalMention(value: JsonObject): JsonObject {
    return withRelatedTask(value, (id) => this.open(id)?.id);
  }

  /** Replaces every task id in a result by the public one. @param tools the tool of each task of a list. */
  publicResult(
    method: ExchangeMethod,
    server: ServerName,
    result: JsonObject,
    tools?: readonly (string | undefined)[],
  ): JsonObject {
    switch (method) {
      case 'tools/call': {
        if (result['resultType'] === 'task') return this.publicTask(server, result);
        const task = createdTask(result);
        return task === undefined
          ? this.publicMention(server, result)
          : { ...this.publicMention(server, result), task: this.publicTask(server, task) };
      }
      case 'tasks/get':
      case 'tasks/cancel':
        return this.publicTask(server, result);
      case 'tasks/list':
        return {
          ...result,
          tasks: Array.isArray(result['tasks'])
            ? result['tasks']
                .filter(isObject)
                .map((task, index) => this.of({ ...this.#of, tool: tools?.[index] }).publicTask(server, task))
            : [],
        };
      default:
        return this.publicMention(server, result);
    }
  }
}

/** The context that tells an adapter which task a request is about. */
export function inContext(task: TaskAddress | undefined): Pick<ExchangeContext, 'taskOwner' | 'taskPlace'> {
  return task === undefined
    ? {}
    : { taskOwner: task.owner, ...(task.place === undefined ? {} : { taskPlace: task.place }) };
}

export function placeOf(outcome: ExchangeOutcome): TaskPlace | undefined {
  return outcome.kind === 'result' ? outcome.place : undefined;
}

/** A key that distinguishes tasks to which two programs of a server gave the same id. */
export function progressKey(server: ServerName, taskId: string, place: TaskPlace | undefined): string {
  return `${server} ${place?.connection} ${taskId}`;
}
