/** Asks callers for the code that the page of a sign-in has shown (`confirmations.ts`), in a form of their client or as the argument of a tool. */
import { revokeAtIssuer, type Connection } from '@omnibus/credentials';
import {
  fault,
  isObject,
  signInName,
  type CallCommand,
  type ExchangeOutcome,
  type InputAnswer,
  type Principal,
  type ServerName,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Confirmations } from './confirmations.ts';
import type { UserCredentials } from './server-credentials.ts';
import type { CodeQuestion } from './sign-in-answer.ts';

interface CodeQuestionsOptions {
  readonly log: Logger;
  readonly confirmations: Confirmations;
  readonly users: (server: ServerName) => UserCredentials | undefined;
  /** Stores what a caller has confirmed. */
  readonly keep: (
    users: UserCredentials,
    server: ServerName,
    principal: Principal,
    connection: Connection,
  ) => Promise<void>;
  /** Ends what was stored while its user was removed. */
  readonly undo: (server: ServerName, principal: Principal) => Promise<unknown>;
}

/** The answer of a caller without a code. No code has these letters. */
const noCode = 'none';

export class CodeQuestions {
  readonly #options: CodeQuestionsOptions;

  constructor(options: CodeQuestionsOptions) {
    this.#options = options;
  }

  /**
   * Asks for the code, after a sign-in at a caller's address.
   * @returns undefined if no sign-in of the caller waits for one, or the caller has no code: the caller then gets an address.
   */
  async ask(
    server: ServerName,
    {
      method,
      params: { name, arguments: given },
      context: {
        principal,
        capabilities: { elicitation },
      },
    }: Pick<CallCommand, 'method' | 'params' | 'context'>,
  ): Promise<ExchangeOutcome | CodeQuestion | undefined> {
    if (!(await this.#options.confirmations.isWaited(server, principal))) return undefined;
    const said = name === signInName && isObject(given) ? given['code'] : undefined;
    if (isNoCode(said)) {
      await this.#giveUp(server, principal);
      return undefined;
    }
    if (typeof said === 'string') {
      const problem = await this.#confirm(server, principal, said);
      return problem === undefined
        ? inWords(`You are signed in to "${server}" now: its tools can be used.`, false)
        : inWords(problem, true);
    }
    const words = `Somebody has signed in to "${server}" at the address that you were given. If that was you, say the code that the page showed at the end. If it was not, do not: what you then use would be another's.`;
    if (!isObject(elicitation) || (!('form' in elicitation) && Object.keys(elicitation).length > 0)) {
      const text = `${words} Call the tool "${signInName}" of this server with it, as { "code": "..." }. If you were shown no code, or have lost it, call it with { "code": "${noCode}" }, which gives you another address.`;
      return method === 'tools/call'
        ? inWords(text, true)
        : { kind: 'fault', fault: fault('upstream.sign_in', text, { server }) };
    }
    return {
      kind: 'question',
      params: {
        mode: 'form',
        message: `${words} If you were shown no code, or have lost it, say "${noCode}".`,
        requestedSchema: {
          type: 'object',
          properties: {
            code: { type: 'string', title: 'Code', description: 'As the page showed it, such as BCDF-2345.' },
          },
          required: ['code'],
        },
      },
      answered: async (answer) => {
        const problem = await this.#answered(server, principal, answer).catch((error: unknown) => {
          this.#options.log.error({ err: error, server }, 'a sign-in could not be taken');
          return 'The sign-in could not be taken: something failed here.';
        });
        return problem === undefined
          ? undefined
          : { kind: 'fault', fault: fault('upstream.sign_in', problem, { server }) };
      },
    };
  }

  /** @returns the problem of the answer, for the caller. */
  async #answered(server: ServerName, principal: Principal, answer: InputAnswer): Promise<string | undefined> {
    const { action, content } = 'result' in answer ? answer.result : {};
    const code = action === 'accept' && isObject(content) ? content['code'] : undefined;
    if (isNoCode(code)) {
      await this.#giveUp(server, principal);
      return `The sign-in to server "${server}" is given up. Ask again for another address.`;
    }
    return typeof code === 'string'
      ? this.#confirm(server, principal, code)
      : `The sign-in to server "${server}" waits for the code that its page showed.`;
  }

  /** Checks the code. @returns its problem, for the caller. */
  async #confirm(server: ServerName, principal: Principal, said: string): Promise<string | undefined> {
    const { confirmations, users: usersOf, keep, undo } = this.#options;
    const over = `No sign-in to "${server}" waits for a code any more: ask again for the address, and sign in once more.`;
    const taken = await confirmations.take(server, principal, said);
    if (taken === 'wrong') return 'This is not the code that the page showed. Try again.';
    const users = usersOf(server);
    if (taken === 'gone' || users === undefined || taken.url !== users.signIn.url) return over;
    await keep(users, server, principal, taken);
    if (await confirmations.end(server, principal)) return undefined;
    await undo(server, principal);
    return over;
  }

  /** Revokes unused tokens at the issuer, without waiting. */
  async #giveUp(server: ServerName, principal: Principal): Promise<void> {
    const { confirmations, users: usersOf, log } = this.#options;
    const connection = await confirmations.giveUp(server, principal);
    const users = usersOf(server);
    if (connection === undefined || users === undefined) return;
    log.info({ server, principal, issuer: connection.issuer }, 'a sign-in was given up that waited for its code');
    void revokeAtIssuer(users.signIn, connection);
  }
}

const isNoCode = (said: unknown): boolean => typeof said === 'string' && said.trim().toLowerCase() === noCode;

export function inWords(text: string, isError: boolean): ExchangeOutcome {
  return { kind: 'result', result: { content: [{ type: 'text', text }], isError } };
}
