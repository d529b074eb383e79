/**
 * Task ids towards clients: sealed, so that they lead to their server from any session and work for nobody but the caller
 * they were given to (2025-11-25 basic/utilities/tasks, Task Isolation and Access Control).
 */
import { createdTask, isObject, withRelatedTask, type ExchangeMethod, type JsonObject, type Principal, type ServerName } from '@omnibus/protocol';
import type { Sealer } from './sealer.ts';

/** Where a page of `tasks/list` begins. */
export interface TaskPage {
  readonly server: ServerName;
  /** The server's own cursor; undefined at its beginning. */
  readonly cursor: string | undefined;
}

export class TaskIds {
  readonly #sealer: Sealer;
  readonly #principal: Principal;

  constructor(sealer: Sealer, principal: Principal) {
    this.#sealer = sealer;
    this.#principal = principal;
  }

  publish(server: ServerName, id: string): string {
    return this.#sealer.seal('task', JSON.stringify([server, id, this.#principal]));
  }

  /** @returns undefined for an id that was not given to this caller. */
  open(publicId: string): { readonly server: ServerName; readonly id: string } | undefined {
    const opened = this.#sealer.open('task', publicId);
    if (opened === undefined) return undefined;
    const [server, id, principal] = JSON.parse(opened) as [ServerName, string, Principal];
    return principal === this.#principal ? { server, id } : undefined;
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

  /** A result with every task id in it made public. */
  publicResult(method: ExchangeMethod, server: ServerName, result: JsonObject): JsonObject {
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
        return { ...result, tasks: Array.isArray(result['tasks']) ? result['tasks'].filter(isObject).map((task) => this.publicTask(server, task)) : [] };
      case 'tasks/result':
      case 'tasks/update':
      case 'skills/list':
      case 'skills/get':
      case 'resources/directory/read':
      case 'prompts/get':
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
      case 'completion/complete':
        return this.publicMention(server, result);
    }
  }
}
