/**
 * The tasks that a server works on: the connection over which each was created, and its caller. A server may mention a task before it has answered that it
 * created it (as the reference server does), so messages about unknown tasks wait for a moment.
 */
import {
  anonymous,
  clientMethods,
  createdTask,
  fault,
  isEnded,
  isObject,
  isSessionTaskMethod,
  methodRow,
  numberOf,
  type CallCommand,
  type ExchangeContext,
  type ExchangeOutcome,
  type JsonObject,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { UpstreamConnection } from '../../connection/connection.ts';
import type { ConnectionPool } from '../../connection/pool.ts';
import type { CallStep } from '../../call/steps.ts';

interface Owner {
  readonly taskId: string;
  readonly connection: UpstreamConnection;
  readonly context: ExchangeContext;
  /** Its tool, by the server's own name. */
  readonly tool: string;
  /** Id of the request that created it, which is its progress token and lives as long as the task. */
  readonly requestId: number;
  readonly expiresAt: number;
  isEnded: boolean;
}

/** A call that a server has answered. */
interface Answered {
  readonly command: CallCommand;
  readonly connection: UpstreamConnection;
  readonly requestId: number;
}

interface Early {
  readonly connection: UpstreamConnection;
  readonly task: JsonObject;
}

const maxKnown = 10_000;
const maxEarly = 100;
/** Longest time for which a task without a time to live keeps its connection. */
const longestLifeMs = 24 * 60 * 60_000;

export class Tasks {
  /** By the server's id, oldest first; two processes of one server may give the same. */
  readonly #known: Owner[] = [];
  #early: Early[] = [];

  /** Learns of tasks from the server's answers, and leaves other callers' tasks out of a list. */
  learn(
    { command: { method, params, context }, connection, requestId }: Answered,
    outcome: ExchangeOutcome,
    announce: (task: JsonObject) => void,
  ): ExchangeOutcome {
    if (outcome.kind !== 'result') return outcome;
    const { result } = outcome;
    switch (method) {
      case 'tools/call': {
        const task = createdTask(result);
        if (task !== undefined)
          for (const said of this.#created({ connection, requestId, context, tool: String(params['name']) }, task))
            announce(said);
        return task !== undefined || result['resultType'] === 'task'
          ? { ...outcome, place: connection.run.place }
          : outcome;
      }
      case 'tasks/get':
      case 'tasks/cancel':
        if (isEnded(result)) this.#ended(connection, result['taskId']);
        return outcome;
      case 'tasks/update':
        return outcome;
      case 'tasks/result':
        this.#ended(connection, params['taskId']);
        return outcome;
      case 'tasks/list': {
        const tasks = Array.isArray(result['tasks']) ? result['tasks'].filter(isObject) : [];
        const isIdentified = context.principal !== anonymous;
        const listed = tasks.flatMap((task) => {
          const owner = this.#visible(connection, task['taskId'], context, isIdentified);
          return owner === undefined ? [] : [{ task, tool: owner.tool }];
        });
        return {
          kind: 'result',
          place: connection.run.place,
          result: { ...result, tasks: listed.map(({ task }) => task) },
          tools: listed.map(({ tool }) => tool),
        };
      }
      default:
        return outcome;
    }
  }

  /** @returns its earlier messages. */
  #created(
    of: Pick<Owner, 'connection' | 'requestId' | 'context' | 'tool'>,
    task: JsonObject & { readonly taskId: string },
  ): JsonObject[] {
    const ttl = numberOf(task['ttl']) ?? longestLifeMs;
    this.#known.push({
      ...of,
      taskId: task.taskId,
      expiresAt: performance.now() + Math.min(ttl, longestLifeMs),
      isEnded: isEnded(task),
    });
    if (this.#known.length > maxKnown) this.#known.shift();
    const isMeant = (early: Early): boolean =>
      early.connection === of.connection && early.task['taskId'] === task.taskId;
    const said = this.#early.filter(isMeant).map((early) => early.task);
    this.#early = this.#early.filter((early) => !isMeant(early));
    return said;
  }

  /** The connection of a request about a task: the one over which the task was created. */
  connectionOf(taskId: string, context: ExchangeContext): UpstreamConnection | undefined {
    const candidates = this.#known.filter(
      (owner) => owner.taskId === taskId && owner.context.principal === context.principal,
    );
    const meant = candidates.find((owner) => owner.context.session === ownerOf(context));
    return (meant ?? (context.principal === anonymous ? undefined : candidates[0]))?.connection;
  }

  /** Whether a task with that id over that connection is known to belong to another caller: two programs of one server may give the same ids. */
  isAnothers(connection: UpstreamConnection, taskId: unknown, context: ExchangeContext): boolean {
    const isMeant = ({ context: { principal, session } }: Owner): boolean =>
      principal === context.principal && (principal !== anonymous || session === ownerOf(context));
    const owners = this.#known.filter((owner) => owner.connection === connection && owner.taskId === taskId);
    return owners.length > 0 && !owners.some(isMeant);
  }

  /** @returns its session, and its tool; undefined while unknown. */
  status(
    connection: UpstreamConnection,
    task: JsonObject,
  ): { readonly session: SessionKey; readonly tool: string } | undefined {
    const owner = this.#ownerOf(connection, task['taskId']);
    if (owner === undefined) {
      this.#early = [...this.#early.slice(1 - maxEarly), { connection, task }];
      return undefined;
    }
    if (isEnded(task)) owner.isEnded = true;
    return { session: owner.context.session, tool: owner.tool };
  }

  /** The tool of a task, by the server's own name. */
  toolOf(connection: UpstreamConnection, taskId: unknown): string | undefined {
    return this.#ownerOf(connection, taskId)?.tool;
  }

  #ownerOf(connection: UpstreamConnection, taskId: unknown): Owner | undefined {
    return this.#known.find((each) => each.connection === connection && each.taskId === taskId);
  }

  /** A task's result was fetched, or its status was seen to be final. */
  #ended(connection: UpstreamConnection, taskId: unknown): void {
    for (const owner of this.#known)
      if (owner.connection === connection && owner.taskId === taskId) owner.isEnded = true;
  }

  /** The task of a progress token. */
  byToken(
    connection: UpstreamConnection,
    token: unknown,
  ):
    | { readonly taskId: string; readonly tool: string; readonly session: SessionKey; readonly wantsProgress: boolean }
    | undefined {
    const owner = this.#known.find((each) => each.connection === connection && each.requestId === token);
    return owner === undefined
      ? undefined
      : {
          taskId: owner.taskId,
          tool: owner.tool,
          session: owner.context.session,
          wantsProgress: owner.context.wantsProgress,
        };
  }

  /** Whether a task still runs over the connection. */
  areRunningOn(connection: UpstreamConnection): boolean {
    return this.#known.some(
      (owner) => owner.connection === connection && !owner.isEnded && owner.expiresAt > performance.now(),
    );
  }

  /** A caller that is identified only by its session sees the tasks of that session only (2025-11-25 basic/utilities/tasks, Security). */
  #visible(
    connection: UpstreamConnection,
    taskId: unknown,
    { principal, session }: ExchangeContext,
    isIdentified: boolean,
  ): Owner | undefined {
    return this.#known.find(
      (owner) =>
        owner.connection === connection &&
        owner.taskId === taskId &&
        (isIdentified ? owner.context.principal === principal : owner.context.session === session),
    );
  }
}

/** The session that created the task which a request is about. */
function ownerOf({ taskOwner, session }: ExchangeContext): SessionKey {
  return taskOwner ?? session;
}

export interface TaskStepsOptions {
  readonly server: ServerName;
  readonly tasks: Tasks;
  readonly connections: () => Pick<ConnectionPool, 'leadingTo' | 'isFor'>;
  /** Tells a session of its task. */
  readonly announce: (connection: UpstreamConnection, task: JsonObject) => void;
}

/** Methods that are about no task. One that no revision defines may be about one. */
const withoutTask: ReadonlySet<string> = new Set(
  [...clientMethods].filter((method) => methodRow(method)?.about !== 'task'),
);

/** Requests about a task go over the connection over which it was created, and concern its owner alone. */
export function taskSteps({ server, tasks, connections, announce }: TaskStepsOptions): CallStep {
  const learn: NonNullable<NonNullable<CallStep['answers']>['tools/call']> = (attempt, outcome, requestId) => {
    const { connection } = attempt;
    const { command } = attempt.call;
    const learned = tasks.learn({ command, connection, requestId }, outcome, (task) => announce(connection, task));
    if (learned.kind === 'result' && learned.place !== undefined) connection.goesOn(attempt);
    return learned;
  };
  return {
    ignores: withoutTask,
    place({ command: { params, context } }) {
      const { taskId } = params;
      const { taskPlace } = context;
      if (taskPlace === undefined && typeof taskId !== 'string') return undefined;
      const made = taskPlace === undefined ? undefined : connections().leadingTo(taskPlace);
      if (made === undefined && taskPlace?.isProgram === true)
        return { fault: fault('task.lost', undefined, { server }) };
      const fixed = made ?? (typeof taskId === 'string' ? tasks.connectionOf(taskId, context) : undefined);
      return {
        connection: fixed,
        refuses: (connection) =>
          tasks.isAnothers(connection, taskId, context) ||
          (fixed !== undefined && !connections().isFor(fixed, context.principal))
            ? fault('task.unknown')
            : undefined,
      };
    },
    answers: Object.fromEntries([...clientMethods].filter(isSessionTaskMethod).map((each) => [each, learn])),
    goesOn: (attempt, outcome, requestId) =>
      attempt.method === 'tools/call' ? learn(attempt, outcome, requestId) : outcome,
  };
}
