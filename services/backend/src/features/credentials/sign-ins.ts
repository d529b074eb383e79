/**
 * Sign-ins of users at servers. After a refusal by a server, the caller gets an address with a ticket, which works for one sign-in, for ten minutes, and for that
 * caller only, which the edge checks. There the browser is sent to the issuer, and the tokens are stored in the vault: at once if the browser has proven
 * to be the caller's, otherwise after the caller has entered the code that the page showed (`confirmations.ts`).
 *
 * A sign-in is no actor of one process: each of its steps may come to another backend worker, so its state is one encrypted record of the shared vault, and
 * taking or marking the record decides which worker makes the step. A marked record stays until what follows is stored: if its user is removed meanwhile, the
 * record is dropped (`Connections.forget`), and the step ends what it has stored.
 *
 *            begin               finish                        code
 *   ticket --------> leaving ------------> ended, pending -------------> connection
 *     ^                 |        |                 |
 *     +---- failed -----+        +-> ended,        +-> removed: given up, five wrong codes, ten minutes
 *                                    connection
 */
import { randomBytes, timingSafeEqual, hash } from 'node:crypto';
import { setLast } from '@omnibus/collections';
import { subjects, type Bus } from '@omnibus/bus';
import {
  beginSignIn,
  connectionAt,
  CredentialProblem,
  finishSignIn,
  issuerHost,
  openAnswer,
  placeOfSecret,
  type Begun,
  type Challenge,
  type Connection,
} from '@omnibus/credentials';
import {
  anonymous,
  fault,
  isObject,
  roundMethods,
  urlElicitationRequired,
  type CallCommand,
  type ConnectCommand,
  type ConnectReply,
  type ExchangeContext,
  type ExchangeOutcome,
  type JsonObject,
  type Principal,
  type ServerName,
  type SessionKey,
  type Who,
} from '@omnibus/protocol';
import { CodeQuestions, inWords } from './code-questions.ts';
import { Confirmations, newCode } from './confirmations.ts';
import { Connections, ownerOf, type ConnectionsOptions } from './connections.ts';
import { OwnBrowser, reuseMs } from './own-browser.ts';
import type { UserCredentials } from './server-credentials.ts';
import type { SignInAnswer } from './sign-in-answer.ts';

export interface SignInsOptions extends ConnectionsOptions {
  readonly bus: Bus;
  /** The address under which browsers reach the gateway. */
  readonly base: () => string | Promise<string>;
  /** Shows the one user of this machine a page, or prints its address; left out where users are elsewhere. @returns whether a browser was opened. */
  readonly show?: ((server: ServerName, address: string) => boolean) | undefined;
}

interface Ticket {
  readonly server: ServerName;
  readonly principal: Principal;
  readonly who?: Who | undefined;
  readonly wanted: Challenge;
  readonly session: SessionKey;
  readonly elicitation: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

interface Leaving extends Pick<Ticket, 'server' | 'principal' | 'who' | 'session' | 'elicitation' | 'until'> {
  readonly isProven: boolean;
  readonly begun: Begun;
  /** A digest of the secret in the browser's cookie. */
  readonly browser: string;
  /** The ticket that the sign-in was begun with; left out by versions that used it up then. */
  readonly ticket?: string;
  /** The issuer's answer is being redeemed. */
  readonly isRedeemed?: true;
}

/** The outcome of a sign-in, for a browser that loads the last page again. */
interface Ended extends Pick<Leaving, 'server' | 'principal' | 'who' | 'browser' | 'until'> {
  readonly ended: ConnectReply;
}

const lifeMs = 10 * 60_000;
const maxReused = 10_000;
const secret = (): string => randomBytes(16).toString('base64url');
const gone: ConnectReply = { kind: 'gone' };

export class SignIns {
  readonly #options: SignInsOptions;
  readonly #confirmations: Confirmations;
  readonly #codes: CodeQuestions;
  readonly #connections: Connections;
  readonly #browser: OwnBrowser;
  /** The issued addresses, by caller. */
  readonly #given = new Map<string, { readonly ticket: string; readonly elicitation: string; readonly at: number }>();
  /** The client ids with which users were sent to issuers and have not come back, by caller: an issuer that does not know one shows an error of its own. */
  readonly #away = new Map<string, string>();

  constructor(options: SignInsOptions) {
    this.#options = options;
    this.#confirmations = new Confirmations(options.passing);
    this.#codes = new CodeQuestions({
      ...options,
      confirmations: this.#confirmations,
      keep: (users, server, principal, connection) => this.#keep(users, server, principal, connection),
      undo: (server, principal) => this.#connections.revoke({ server, principal }),
    });
    this.#connections = new Connections(options);
    this.#browser = new OwnBrowser(options.show);
  }

  /** Opens the sign-in page of a server for the one user of this machine, before a call. @returns whether the user has signed in, or need not. */
  async invite(server: ServerName): Promise<boolean> {
    const users = this.#options.users(server);
    const wanted = users?.areSeveral === false ? users.base.wanted : undefined;
    if (wanted === undefined) return true;
    const { ticket, elicitation } = await this.#ticket(server, wanted, {
      principal: anonymous,
      session: '' as SessionKey,
    });
    this.#browser.show(server, `${await this.#options.base()}/connect/${ticket}`);
    return this.#browser.ended(elicitation);
  }

  /** The answer to a call that its server has refused: a URL elicitation, as a server with sign-in pages of its own would send (2025-11-25 client/elicitation, URL mode). */
  async ask(
    server: ServerName,
    wanted: Challenge,
    { method, params, context }: Pick<CallCommand, 'method' | 'params' | 'context'>,
  ): Promise<SignInAnswer> {
    const asked = await this.#codes.ask(server, { method, params, context });
    if (asked !== undefined) return asked;
    const { ticket, elicitation } = await this.#ticket(server, wanted, context);
    const url = `${await this.#options.base()}/connect/${ticket}`;
    const why = (await this.#isLost(server, context.principal))
      ? 'What you had connected to it cannot be decrypted here any more, because a key of the gateway is missing: sign in again, or ask an operator of the gateway.'
      : undefined;
    const inWordsOf = (text: string, isFault = method !== 'tools/call'): ExchangeOutcome =>
      isFault ? { kind: 'fault', fault: fault('upstream.sign_in', text, { server, url }) } : inWords(text, true);
    const message = [`The server "${server}" wants you to sign in.`, why ?? []].flat().join(' ');
    const wait = (params: JsonObject | undefined, said: string, otherwise: ExchangeOutcome): SignInAnswer => {
      if (this.#options.users(server)?.doWait !== true || !roundMethods.has(method)) return otherwise;
      const declined = inWordsOf(
        `The server "${server}" wants its user to sign in first, and the address was not opened. Ask again for another one.`,
      );
      return {
        kind: 'wait',
        params,
        message: said,
        otherwise,
        declined,
        isCodeWanted: () => this.isCodeWanted(server, context.principal),
      };
    };
    const { elicitation: declared } = context.capabilities;
    if (isObject(declared) && isObject(declared['url'])) {
      const params = { mode: 'url', elicitationId: elicitation, url, message };
      return wait(params, `${message} The call goes on after that.`, {
        kind: 'error',
        error: { code: urlElicitationRequired, message, data: { elicitations: [params] } },
      });
    }
    const isShown = this.#browser.show(server, url);
    const where = isShown
      ? `on a page that a browser of this machine has opened; if it is not there, open ${url}`
      : `at ${url}`;
    const first = `The server "${server}" wants its user to sign in first, ${where} - the address is for this user alone, and good for ten minutes.`;
    const otherwise = inWordsOf([`${first} Then ask again.`, why ?? []].flat().join(' '));
    // A user that gets the address with the answer only would wait for it in vain.
    return isShown || context.wantsProgress
      ? wait(undefined, [`${first} The call goes on after that.`, why ?? []].flat().join(' '), otherwise)
      : otherwise;
  }

  /** Whether a sign-in at a user's address waits for the user's code. */
  isCodeWanted(server: ServerName, principal: Principal): Promise<boolean> {
    return this.#confirmations.isWaited(server, principal);
  }

  /** Whether the user has connected the server, and a key of the vault is missing that would decrypt it. */
  async #isLost(server: ServerName, principal: Principal): Promise<boolean> {
    const users = this.#options.users(server);
    return users !== undefined && (await this.#options.vault.lostAt(users.placeOf(principal))) !== undefined;
  }

  async #keep(users: UserCredentials, server: ServerName, principal: Principal, connection: Connection): Promise<void> {
    await this.#options.vault.put(users.placeOf(principal), connection.issuer, connection);
    this.#options.log.info({ server, principal, issuer: connection.issuer }, 'a user has signed in for a server');
    await this.#options.changed(server, principal);
  }

  async hear(command: ConnectCommand): Promise<ConnectReply> {
    try {
      switch (command.kind) {
        case 'look':
          return await this.#look(command);
        case 'begin':
          return await this.#begin(command);
        case 'finish':
          return await this.#finish(command);
        case 'list':
          return await this.#connections.list(command);
        case 'revoke':
          return await this.#connections.revoke(command);
        case 'forget':
        case 'forget-directed':
          return await this.#connections.forget(command);
      }
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** @throws whatever is no problem with credentials. */
  #failed(error: unknown): Extract<ConnectReply, { kind: 'failed' }> {
    if (!(error instanceof CredentialProblem)) throw error;
    this.#options.log.warn({ problem: error.message }, 'a sign-in for a server did not go through');
    return { kind: 'failed', problem: error.message };
  }

  async #ticket(
    server: ServerName,
    wanted: Challenge,
    { principal, who, session }: Pick<ExchangeContext, 'principal' | 'who' | 'session'>,
  ): Promise<{ readonly ticket: string; readonly elicitation: string }> {
    const key = JSON.stringify([server, principal, session, wanted]);
    const before = this.#given.get(key);
    if (
      before !== undefined &&
      Date.now() - before.at < reuseMs &&
      (await this.#options.passing.get(placeOfSecret('ticket', before.ticket))) !== undefined
    )
      return before;
    const made = { ticket: secret(), elicitation: secret(), at: Date.now() };
    await this.#options.passing.put(placeOfSecret('ticket', made.ticket), '', {
      server,
      principal,
      who,
      wanted,
      session,
      elicitation: made.elicitation,
      until: made.at + lifeMs,
    } satisfies Ticket);
    return setLast(this.#given, key, made, maxReused);
  }

  async #look({ ticket: text, withIssuer = false }: Extract<ConnectCommand, { kind: 'look' }>): Promise<ConnectReply> {
    const ticket = (await this.#options.passing.get<Ticket>(placeOfSecret('ticket', text)))?.value;
    const users = ticket === undefined ? undefined : this.#options.users(ticket.server);
    if (ticket === undefined || users === undefined || Date.now() >= ticket.until) return gone;
    const issuer = withIssuer ? await issuerHost(users.signIn, ticket.wanted) : undefined;
    return {
      kind: 'ticket',
      ...(issuer === undefined ? {} : { issuer }),
      server: ticket.server,
      host: new URL(users.signIn.url).host,
      principal: ticket.principal,
      ...(ticket.who === undefined ? {} : { who: ticket.who }),
    };
  }

  async #begin({
    ticket: text,
    principal,
    browser,
    isProven,
  }: Extract<ConnectCommand, { kind: 'begin' }>): Promise<ConnectReply> {
    const { passing, vault, users: usersOf } = this.#options;
    const place = placeOfSecret('ticket', text);
    const kept = await passing.get<Ticket>(place);
    const ticket = kept?.value;
    const users = ticket === undefined ? undefined : usersOf(ticket.server);
    // A ticket of another user stays valid for that user.
    if (ticket?.principal !== principal || users === undefined || Date.now() >= ticket.until) return gone;
    const before = connectionAt(await vault.get<Connection>(users.placeOf(principal)), users.signIn.url)?.value;
    const { address, state, begun } = await beginSignIn(
      users.signIn,
      `${await this.#options.base()}/connect/callback`,
      ticket.wanted,
      before?.scope,
      this.#away.get(callerAt(ticket)),
    );
    this.#noteAway(ticket, begun);
    const { server, who, session, elicitation } = ticket;
    await passing.put(placeOfSecret('sign-in', state), begun.issuer, {
      server,
      principal,
      who,
      isProven,
      session,
      elicitation,
      begun,
      browser: digest(browser),
      ticket: text,
      until: Date.now() + lifeMs,
    } satisfies Leaving);
    // It works until a sign-in with it has ended well, since users go back and begin again. It is written again, for the store drops what is old; another tab may do so too.
    if (
      (await passing.update(place, '', ticket, kept?.revision as number)) === undefined &&
      (await passing.get(place)) === undefined
    )
      return gone;
    return { kind: 'leave', address };
  }

  #noteAway(at: Pick<Ticket, 'server' | 'principal'>, { client }: Begun): void {
    setLast(this.#away, callerAt(at), client.clientId, maxReused);
  }

  async #finish({ browser, state, sealed }: Extract<ConnectCommand, { kind: 'finish' }>): Promise<ConnectReply> {
    const { passing, users: usersOf } = this.#options;
    const place = placeOfSecret('sign-in', state);
    const kept = await passing.get<Leaving | Ended>(place);
    // The browser is not the one that was sent to the issuer: an attacker may have sent it here with an answer for another person.
    if (
      kept === undefined ||
      Date.now() >= kept.value.until ||
      !timingSafeEqual(Buffer.from(kept.value.browser), Buffer.from(digest(browser)))
    )
      return gone;
    const leaving = kept.value;
    if ('ended' in leaving) return leaving.ended;
    if (leaving.isRedeemed === true) return gone;
    const { server, principal, who, begun, ticket } = leaving;
    // Its record stays until the outcome is stored: `Connections.forget` finds it there, and drops it.
    const taken = { ...leaving, isRedeemed: true } satisfies Leaving;
    const revision = await passing.update(place, begun.issuer, taken, kept.revision);
    const users = usersOf(server);
    // The server's name now stands for another address, and the sign-in was begun for the previous one.
    if (revision === undefined || users === undefined || begun.url !== users.signIn.url) return gone;
    this.#away.delete(callerAt(leaving));
    const said = sealed === undefined ? undefined : await openAnswer(begun.answerKey, sealed);
    if (said === undefined) return gone;
    const used = ticket === undefined ? undefined : await passing.take<Ticket>(placeOfSecret('ticket', ticket));
    if (ticket !== undefined && used === undefined) return gone; // Another tab of the same user was faster.
    const note = async (ended: ConnectReply): Promise<ConnectReply> => {
      const { until } = leaving;
      const outcome = { server, principal, who, browser: leaving.browser, until, ended } satisfies Ended;
      await passing.update(place, begun.issuer, outcome, revision);
      return ended;
    };
    try {
      return await this.#redeem(users, leaving, said, note).catch(async (error: unknown): Promise<ConnectReply> => {
        const failed = this.#failed(error);
        if (ticket === undefined || used === undefined || Date.now() >= used.until) return note(failed);
        await passing.put(placeOfSecret('ticket', ticket), '', used);
        return note({ ...failed, ticket });
      });
    } finally {
      if ((await passing.get(place)) === undefined) {
        if (ticket !== undefined) await passing.take(placeOfSecret('ticket', ticket));
        await (leaving.isProven
          ? this.#connections.revoke({ server, principal })
          : this.#connections.drop({ purpose: 'pending', server, principal }));
      }
    }
  }

  /** @param note stores the outcome of the sign-in, for a browser that loads the page again. */
  async #redeem(
    users: UserCredentials,
    { server, principal, who, session, elicitation, begun, isProven }: Leaving,
    said: URLSearchParams,
    note: (ended: ConnectReply) => Promise<ConnectReply>,
  ): Promise<ConnectReply> {
    const connection: Connection = {
      ...(await finishSignIn(users.signIn, begun, said)),
      owner: who === undefined ? undefined : ownerOf(who),
      tenant: who?.tenant,
    };
    const code = isProven ? undefined : newCode();
    const ended: ConnectReply = { kind: 'done', server, ...(code === undefined ? {} : { code }) };
    if (code === undefined) await this.#keep(users, server, principal, connection);
    await note(ended);
    // After that, so that no user must enter a code that no page can show.
    if (code !== undefined) await this.#confirmations.begin(server, principal, connection, code);
    this.#options.bus.publish(subjects.notices, {
      kind: 'elicitation-complete',
      server,
      elicitationId: elicitation,
      sessions: [session],
    });
    this.#browser.done(server, elicitation);
    return ended;
  }
}

const callerAt = ({ server, principal }: Pick<Ticket, 'server' | 'principal'>): string => `${server} ${principal}`;

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
