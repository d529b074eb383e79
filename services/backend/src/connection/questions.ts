/**
 * The questions that a server asks its client over one connection, until each is answered, withdrawn or dropped.
 *
 * Invariants
 *  Q1  A question concerns the request of its stream; else the request that waits for the task it names; else, if only one session has used the
 *      connection, the latest request of that session in flight, or the session itself; else, for roots, if the requests of one user run one at a
 *      time, the one in flight: no other client of the user gets the connection afterwards. Any other question is refused, since an earlier request of
 *      another session may have caused it.
 *  Q2  A question outlives the answer to its request. Another request of the session takes it over if it was attributed by session, or the session
 *      itself does if it has the connection alone. Otherwise, and if the request was cancelled, the server gets an error.
 *  Q3  The server gets exactly one answer, or none when it withdrew the question, when the call of its stream was cancelled, or when the
 *      connection ended; the asked client then gets a cancellation.
 */
import {
  fault,
  idKey,
  inputCapabilities,
  isCustomMethod,
  isInputMethod,
  isObject,
  printable,
  relatedTaskOf,
  toErrorObject,
  urlProblem,
  type InputAnswer,
  type JsonObject,
  type JsonRpcId,
  type JsonRpcRequest,
  type QuestionMethod,
  type RepairCounts,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { Deadline } from '@omnibus/lifecycle';
import type { Logger } from '@omnibus/telemetry';

/** Something that the server asks the client; answered with `respond`. */
export interface Question {
  readonly id: JsonRpcId;
  readonly method: QuestionMethod;
  readonly params: JsonObject;
}

/** Receives questions: the part of a request's receiver that questions need. */
export interface QuestionTarget {
  /** The session that the request was made for; undefined for the gateway's own. */
  readonly session: SessionKey | undefined;
  /** The task that the request is about, if any. */
  readonly task: string | undefined;
  ask(question: Question): void;
  /** Takes over a question of an ended request, if it was attributed by session. */
  adopt(question: Question): void;
  /** The server no longer waits for the answer. */
  withdraw(id: JsonRpcId, reason: string): void;
}

export interface QuestionsOptions {
  readonly server: ServerName;
  /** The client capabilities that were declared to the server. */
  readonly capabilities: JsonObject;
  /** Receives questions that belong to no request; undefined if the connection is shared. */
  readonly owner: QuestionTarget | undefined;
  readonly send: (message: { readonly jsonrpc: '2.0'; readonly id: JsonRpcId } & InputAnswer) => void;
  /** Receivers of the requests in flight, oldest first. */
  readonly inFlight: () => readonly QuestionTarget[];
  /** The only session that has used the connection; undefined when several have, or none. */
  readonly user: () => SessionKey | undefined;
  /** Whether requests of one user are sent one at a time, and after a reading of roots no client with other roots follows. */
  readonly isTakenInTurn: () => boolean;
  /** Called for a question of which nothing tells which client it concerns. */
  readonly unnamed: () => void;
  readonly log: Logger;
  /** Counts repairs of the server's messages; undefined if there are none. */
  readonly repairs: RepairCounts | undefined;
}

interface OpenQuestion {
  readonly question: Question;
  readonly asked: QuestionTarget;
  /** Whether the stream told which request it belongs to. */
  readonly isCertain: boolean;
}

/** Bound on open questions of one connection; further ones are refused. */
const maxOpen = 100;

/** A key that is the same for the same roots in any order. @param result of `roots/list`. */
export function rootsKey({ roots }: JsonObject): string {
  return JSON.stringify(
    (Array.isArray(roots) ? roots : [])
      .filter(isObject)
      .map(({ uri }) => String(uri))
      .sort(),
  );
}

const methodNotFound = -32_601;
const invalidParams = -32_602;

/** An id with the same text as a number instead of a text, or the other way round. */
function inOtherType(id: JsonRpcId): JsonRpcId {
  if (typeof id === 'number') return String(id);
  return typeof id === 'string' && String(Number(id)) === id ? Number(id) : id;
}

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<string | number, OpenQuestion>();
  /** Whether a client is being asked something. */
  isOpen = false;
  #wereAsked = false;
  #roots: string | undefined;
  #quiet: (() => void) | undefined;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** @param origin the request of the question's stream, if the wire tells; `null` for one that is not in flight. */
  hear({ id, method, params = {} }: JsonRpcRequest, origin: QuestionTarget | null | undefined): void {
    const { capabilities, owner, server, log } = this.#options;
    if (method === 'ping') {
      this.respond(id, { result: {} });
      return;
    }
    const isCustom = isCustomMethod(method);
    if (!isCustom && (!isInputMethod(method) || !(inputCapabilities[method] in capabilities))) {
      this.respond(id, {
        error: {
          code: methodNotFound,
          message: `this client does not serve ${printable(method, 200)}: it declared no capability for it`,
        },
      });
      return;
    }
    const problem = method === 'elicitation/create' ? urlProblem(params) : undefined;
    if (problem !== undefined) {
      log.warn({ problem }, 'the server asked for something no user should be shown');
      this.respond(id, { error: { code: invalidParams, message: problem } });
      return;
    }
    this.#wereAsked = true;
    // Asking for roots does not count: no client with other roots gets the connection.
    if (origin === undefined && method !== 'roots/list') this.#options.unnamed();
    const asked = (origin === undefined ? (this.#waitingForTask(params) ?? this.#concerned(method)) : origin) ?? owner;
    if (asked !== undefined && this.#open.size < maxOpen) {
      const question: Question = { id, method, params };
      this.#open.set(idKey(id), { question, asked, isCertain: origin !== undefined });
      this.isOpen = true;
      asked.ask(question);
    } else if (method === 'roots/list') {
      // Many servers ask for roots right after the handshake, when their client is unknown.
      this.respond(id, { result: { roots: [] } });
    } else if (isCustom && asked === undefined) {
      this.respond(id, {
        error: { code: methodNotFound, message: `nothing tells which client is to serve ${method}` },
      });
    } else {
      const refusal = fault(
        'input.unattributed',
        asked === undefined
          ? `nothing tells whose call of server "${server}" needs ${method}; set "isolation: session" for it, or make the call again`
          : `server "${server}" has ${maxOpen} questions open already`,
      );
      log.warn({ method }, refusal.message);
      this.respond(id, { error: toErrorObject(refusal) });
    }
  }

  respond(id: JsonRpcId, answer: InputAnswer): void {
    const open = this.#open.get(idKey(id));
    if (open?.question.method === 'roots/list' && 'result' in answer) this.#roots = rootsKey(answer.result);
    this.#close(id); // Q3
    this.#options.send({ jsonrpc: '2.0', id, ...answer });
  }

  /** @param named the id that the server has withdrawn; where no question has it, the id of the other type with the same text is meant. */
  withdraw(named: JsonRpcId, reason: string): void {
    const { repairs } = this.#options;
    const id = repairs === undefined || this.#open.has(idKey(named)) ? named : inOtherType(named);
    const open = this.#open.get(idKey(id));
    if (open === undefined) return;
    if (id !== named) repairs?.note('text-id', `requestId ${JSON.stringify(named)}`);
    this.#close(id);
    open.asked.withdraw(id, reason);
  }

  /** A request has ended. To be called when it is no longer in flight, and before the report of its end. */
  leave(ended: QuestionTarget, how: 'settled' | 'cancelled'): void {
    if (this.#open.size === 0) return;
    for (const [key, { question, asked, isCertain }] of this.#open) {
      if (asked !== ended) continue;
      const heir =
        (isCertain ? undefined : this.#concerned(question.method)) ??
        (how === 'settled' ? this.#options.owner : undefined);
      if (isCertain && how === 'cancelled') {
        this.#close(question.id);
      } else if (heir === undefined || heir.session !== ended.session) {
        this.respond(question.id, {
          error: toErrorObject(fault('input.unattributed', `the call that was to answer ${question.method} has ended`)),
        });
      } else {
        this.#open.set(key, { question, asked: heir, isCertain }); // Q2
        heir.adopt(question);
      }
    }
  }

  /** The server that asked is gone, or has forgotten its questions. The next one may use the same ids, and must not get answers to these. */
  clear(reason: string): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.isOpen = false;
    this.#quiet?.();
    for (const {
      question: { id },
      asked,
    } of open)
      asked.withdraw(id, reason);
  }

  /** The client's roots that the server was last told, as `rootsKey` gives them. */
  get roots(): string | undefined {
    return this.#roots;
  }

  /** Whether there was a question for a client. */
  get wereAsked(): boolean {
    return this.#wereAsked;
  }

  /**
   * Resolves when no question is open, or when the limit has passed.
   * @param limit runs the given function when the time is over.
   */
  quiet(limit: (run: () => void) => Deadline): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        deadline.cancel();
        this.#quiet = undefined;
        resolve();
      };
      const deadline = limit(finish);
      this.#quiet = finish;
    });
  }

  #close(id: JsonRpcId): void {
    if (!this.#open.delete(idKey(id)) || this.#open.size > 0) return;
    this.isOpen = false;
    this.#quiet?.();
  }

  /** A server sends questions of a task on the request that waits for the task's result (2025-11-25 basic/utilities/tasks). */
  #waitingForTask(params: JsonObject): QuestionTarget | undefined {
    const task = relatedTaskOf(params);
    return task === undefined ? undefined : this.#options.inFlight().find((asked) => asked.task === task);
  }

  #concerned(method: QuestionMethod): QuestionTarget | undefined {
    const user = this.#options.user();
    if (user === undefined && method === 'roots/list' && this.#options.isTakenInTurn()) {
      const [only, ...others] = this.#options.inFlight().filter(({ session }) => session !== undefined);
      return others.length === 0 ? only : undefined;
    }
    return user === undefined ? undefined : this.#options.inFlight().findLast(({ session }) => session === user); // Q1
  }
}
