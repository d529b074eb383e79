/**
 * What a server asks of its client over one connection, until it is answered, withdrawn or nobody's any more.
 *
 * Invariants
 *  Q1  A question concerns the request whose stream carried it; else the one that waits for the task it names; else, where one session alone has used the
 *      connection, the latest request it has in flight, or the session itself; else, of roots, where one user's requests are made one at a time, the one
 *      in flight: no other client of the user is given the connection afterwards. Everything else would be a guess, since what another session sent
 *      before may have caused it, and is refused.
 *  Q2  A question outlives the answer to its request: another request of the session has it then, if the session alone told whose it was, or the
 *      session itself where it has the connection alone. Elsewhere the server is told that nobody will answer, and also where the request was
 *      cancelled.
 *  Q3  The server hears exactly one answer, or none when it withdrew the question, the call on whose stream it asked was cancelled, or the
 *      connection ended: whoever was asked hears that then.
 */
import {
  fault, idKey, inputCapabilities, isCustomMethod, isInputMethod, isObject, printable, relatedTaskOf, toErrorObject, urlProblem,
  type InputAnswer, type JsonObject, type JsonRpcId, type JsonRpcRequest, type QuestionMethod, type ServerName, type SessionKey,
} from '@omnibus/protocol';
import type { Deadline } from '@omnibus/lifecycle';
import type { Logger } from '@omnibus/telemetry';

/** Something the server asks of the client; answered with `respond`. */
export interface Question {
  readonly id: JsonRpcId;
  readonly method: QuestionMethod;
  readonly params: JsonObject;
}

/** Whose questions are whose: the part of a request's waiter that is asked. */
export interface QuestionTarget {
  /** The session the request is made for; undefined for the gateway's own. */
  readonly session: SessionKey | undefined;
  /** The task the request is about, when it is about one. */
  readonly task: string | undefined;
  ask(question: Question): void;
  /** Takes a question over from a request that ended, since nothing but the session told whose it was. */
  adopt(question: Question): void;
  /** The server does not wait for the answer any more. */
  withdraw(id: JsonRpcId, reason: string): void;
}

export interface QuestionsOptions {
  readonly server: ServerName;
  /** What the server was told its client can do. */
  readonly capabilities: JsonObject;
  /** Who is asked what belongs to no request; undefined when nobody has the connection alone. */
  readonly owner: QuestionTarget | undefined;
  readonly send: (message: { readonly jsonrpc: '2.0'; readonly id: JsonRpcId } & InputAnswer) => void;
  /** Of the requests in flight, oldest first. */
  readonly inFlight: () => readonly QuestionTarget[];
  /** The session that alone has used the connection; undefined when several have, or none. */
  readonly user: () => SessionKey | undefined;
  /** Requests of one user are made one at a time, and none of a client with other roots follows one whose roots were read. */
  readonly isTakenInTurn: () => boolean;
  /** Nothing tells on whose behalf a question is asked. */
  readonly unnamed: () => void;
  readonly log: Logger;
}

interface OpenQuestion {
  readonly question: Question;
  readonly asked: QuestionTarget;
  /** The stream told whose it is. */
  readonly isCertain: boolean;
}

/** Questions one connection may have open; a server that asks on is refused. */
const maxOpen = 100;

/** The same for the same roots, in whatever order. @param result of `roots/list`. */
export function rootsKey({ roots }: JsonObject): string {
  return JSON.stringify((Array.isArray(roots) ? roots : []).filter(isObject).map(({ uri }) => String(uri)).sort());
}

const methodNotFound = -32_601;
const invalidParams = -32_602;

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<string | number, OpenQuestion>();
  #wereAsked = false;
  #roots: string | undefined;
  #quiet: (() => void) | undefined;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** @param origin the request whose stream carried the question, where the wire tells. `null`: one that is not in flight. */
  hear({ id, method, params = {} }: JsonRpcRequest, origin: QuestionTarget | null | undefined): void {
    const { capabilities, owner, server, log } = this.#options;
    if (method === 'ping') {
      this.respond(id, { result: {} });
      return;
    }
    const isCustom = isCustomMethod(method);
    if (!isCustom && (!isInputMethod(method) || !(inputCapabilities[method] in capabilities))) {
      this.respond(id, { error: { code: methodNotFound, message: `this client does not serve ${printable(method, 200)}: it declared no capability for it` } });
      return;
    }
    const problem = method === 'elicitation/create' ? urlProblem(params) : undefined;
    if (problem !== undefined) {
      log.warn({ problem }, 'the server asked for something no user should be shown');
      this.respond(id, { error: { code: invalidParams, message: problem } });
      return;
    }
    this.#wereAsked = true;
    // Roots say whose they are: no client with others is given the connection.
    if (origin === undefined && method !== 'roots/list') this.#options.unnamed();
    const asked = (origin === undefined ? (this.#waitingForTask(params) ?? this.#concerned(method)) : origin) ?? owner;
    if (asked !== undefined && this.#open.size < maxOpen) {
      const question: Question = { id, method, params };
      this.#open.set(idKey(id), { question, asked, isCertain: origin !== undefined });
      asked.ask(question);
    } else if (method === 'roots/list') {
      // Servers look around right after the handshake, and nothing tells whose roots are meant.
      this.respond(id, { result: { roots: [] } });
    } else if (isCustom && asked === undefined) {
      this.respond(id, { error: { code: methodNotFound, message: `nothing tells which client is to serve ${method}` } });
    } else {
      const refusal = fault('input.unattributed', asked === undefined
        ? `nothing tells whose call of server "${server}" needs ${method}; set "isolation: session" for it, or make the call again`
        : `server "${server}" has ${maxOpen} questions open already`);
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

  withdraw(id: JsonRpcId, reason: string): void {
    const open = this.#open.get(idKey(id));
    this.#close(id);
    open?.asked.withdraw(id, reason);
  }

  /** A request is over. Call it when the request is out of flight and before anyone hears of its end. */
  leave(ended: QuestionTarget, how: 'settled' | 'cancelled'): void {
    if (this.#open.size === 0) return;
    for (const [key, { question, asked, isCertain }] of this.#open) {
      if (asked !== ended) continue;
      const heir = (isCertain ? undefined : this.#concerned(question.method)) ?? (how === 'settled' ? this.#options.owner : undefined);
      if (isCertain && how === 'cancelled') {
        this.#close(question.id);
      } else if (heir === undefined || heir.session !== ended.session) {
        this.respond(question.id, { error: toErrorObject(fault('input.unattributed', `the call that was to answer ${question.method} has ended`)) });
      } else {
        this.#open.set(key, { question, asked: heir, isCertain }); // Q2
        heir.adopt(question);
      }
    }
  }

  /** The server that asked is gone, or has forgotten that it did: what comes next may have the same ids, and none of these is answered to it. */
  clear(reason: string): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#quiet?.();
    for (const { question: { id }, asked } of open) asked.withdraw(id, reason);
  }

  /** A client is being asked something. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** What the server was last told of a client's roots, as `rootsKey` has it. */
  get roots(): string | undefined {
    return this.#roots;
  }

  /** Something was asked that a client may have to answer. */
  get wereAsked(): boolean {
    return this.#wereAsked;
  }

  /**
   * Resolves when no question is open, or the limit is over.
   * @param limit calls what it is given when the time is over.
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
    if (this.#open.delete(idKey(id)) && this.#open.size === 0) this.#quiet?.();
  }

  /** What a server needs for a task, it asks of the request that waits for the task's result (2025-11-25 basic/utilities/tasks). */
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
