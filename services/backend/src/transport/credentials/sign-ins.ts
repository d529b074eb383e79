/**
 * Users who sign in for servers. Somebody whose call a server refuses is given an address with a ticket: good for ten minutes, once, and for him
 * alone, which the edge sees to. With it he is sent to the issuer, and what he brings back is kept for him in the vault.
 */
import { randomBytes, timingSafeEqual, hash } from 'node:crypto';
import { subjects, type Bus } from '@omnibus/bus';
import { beginSignIn, connectionAt, CredentialProblem, finishSignIn, placeOfSecret, type Begun, type Challenge, type Connection, type Vault } from '@omnibus/credentials';
import { fault, isObject, urlElicitationRequired, type ConnectCommand, type ConnectReply, type ExchangeContext, type ExchangeMethod, type ExchangeOutcome, type Principal, type ServerName, type SessionKey } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { UserCredentials } from './server-credentials.ts';

export interface SignInsOptions {
  readonly bus: Bus;
  readonly log: Logger;
  /** What users have connected. */
  readonly vault: Vault;
  /** Tickets, and sign-ins on their way. */
  readonly passing: Vault;
  /** Where browsers find the gateway. */
  readonly base: () => string;
  /** Of a server where each caller has his own credentials. */
  readonly users: (server: ServerName) => UserCredentials | undefined;
}

interface Ticket {
  readonly server: ServerName;
  readonly principal: Principal;
  readonly wanted: Challenge;
  readonly session: SessionKey;
  readonly elicitation: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

interface Leaving extends Pick<Ticket, 'server' | 'principal' | 'session' | 'elicitation' | 'until'> {
  readonly begun: Begun;
  /** A digest of what the browser keeps. */
  readonly browser: string;
}

const lifeMs = 10 * 60_000;
/** A caller who is refused again is given the same address for this long. */
const reuseMs = 5 * 60_000;
const maxReused = 10_000;
const secret = (): string => randomBytes(16).toString('base64url');
const gone: ConnectReply = { kind: 'gone' };

export class SignIns {
  readonly #options: SignInsOptions;
  /** Addresses that were given, by whom they are for. */
  readonly #given = new Map<string, { readonly ticket: string; readonly elicitation: string; readonly at: number }>();

  constructor(options: SignInsOptions) {
    this.#options = options;
  }

  /** What a call is answered that its server has refused: as a server would ask for it that has pages of its own (2025-11-25 client/elicitation, URL mode). */
  async ask(server: ServerName, wanted: Challenge, method: ExchangeMethod, context: ExchangeContext): Promise<ExchangeOutcome> {
    const { ticket, elicitation } = await this.#ticket(server, wanted, context);
    const url = `${this.#options.base()}/connect/${ticket}`;
    const { elicitation: declared } = context.capabilities;
    if (isObject(declared) && isObject(declared['url'])) {
      const message = `The server "${server}" wants you to sign in.`;
      return { kind: 'error', error: { code: urlElicitationRequired, message, data: { elicitations: [{ mode: 'url', elicitationId: elicitation, url, message }] } } };
    }
    const text = `The server "${server}" wants its user to sign in first, at ${url} - the address is for this user alone, and good for ten minutes. Then ask again.`;
    return method === 'tools/call' ? { kind: 'result', result: { content: [{ type: 'text', text }], isError: true } } : { kind: 'fault', fault: fault('upstream.sign_in', text, { server, url }) };
  }

  async hear(command: ConnectCommand): Promise<ConnectReply> {
    try {
      switch (command.kind) {
        case 'look': return await this.#look(command.ticket);
        case 'begin': return await this.#begin(command);
        case 'finish': return await this.#finish(command);
      }
    } catch (error) {
      if (!(error instanceof CredentialProblem)) throw error;
      this.#options.log.warn({ problem: error.message }, 'a sign-in for a server did not go through');
      return { kind: 'failed', problem: error.message };
    }
  }

  async #ticket(server: ServerName, wanted: Challenge, { principal, session }: ExchangeContext): Promise<{ readonly ticket: string; readonly elicitation: string }> {
    const key = JSON.stringify([server, principal, session, wanted]);
    const before = this.#given.get(key);
    if (before !== undefined && Date.now() - before.at < reuseMs && await this.#options.passing.get(placeOfSecret('ticket', before.ticket)) !== undefined) return before;
    const made = { ticket: secret(), elicitation: secret(), at: Date.now() };
    await this.#options.passing.put(placeOfSecret('ticket', made.ticket), '', { server, principal, wanted, session, elicitation: made.elicitation, until: made.at + lifeMs } satisfies Ticket);
    this.#given.delete(key);
    this.#given.set(key, made);
    if (this.#given.size > maxReused) this.#given.delete(this.#given.keys().next().value as string);
    return made;
  }

  async #look(text: string): Promise<ConnectReply> {
    const ticket = (await this.#options.passing.get<Ticket>(placeOfSecret('ticket', text)))?.value;
    const users = ticket === undefined ? undefined : this.#options.users(ticket.server);
    if (ticket === undefined || users === undefined || Date.now() >= ticket.until) return gone;
    return { kind: 'ticket', server: ticket.server, host: new URL(users.signIn.url).host, principal: ticket.principal };
  }

  async #begin({ ticket: text, principal, browser }: Extract<ConnectCommand, { kind: 'begin' }>): Promise<ConnectReply> {
    const { passing, vault, users: usersOf } = this.#options;
    const known = (await passing.get<Ticket>(placeOfSecret('ticket', text)))?.value;
    // Somebody else's stays good for whom it is for.
    if (known?.principal !== principal) return gone;
    const ticket = await passing.take<Ticket>(placeOfSecret('ticket', text));
    const users = ticket === undefined ? undefined : usersOf(ticket.server);
    if (ticket === undefined || users === undefined || Date.now() >= ticket.until) return gone;
    const before = connectionAt(await vault.get<Connection>(users.placeOf(principal)), users.signIn.url)?.value;
    const { address, state, begun } = await beginSignIn(users.signIn, `${this.#options.base()}/connect/callback`, ticket.wanted, before?.scope);
    const { server, session, elicitation } = ticket;
    await passing.put(placeOfSecret('sign-in', state), begun.issuer, { server, principal, session, elicitation, begun, browser: digest(browser), until: Date.now() + lifeMs } satisfies Leaving);
    return { kind: 'leave', address };
  }

  async #finish({ browser, query: text }: Extract<ConnectCommand, { kind: 'finish' }>): Promise<ConnectReply> {
    const { passing, vault, bus, log, users: usersOf } = this.#options;
    const query = new URLSearchParams(text);
    const place = placeOfSecret('sign-in', query.get('state') ?? '');
    const known = (await passing.get<Leaving>(place))?.value;
    // Another browser than the one that left: somebody was sent here with somebody else's answer.
    if (known === undefined || Date.now() >= known.until || !timingSafeEqual(Buffer.from(known.browser), Buffer.from(digest(browser)))) return gone;
    const leaving = await passing.take<Leaving>(place);
    const users = leaving === undefined ? undefined : usersOf(leaving.server);
    // Another server has its name by now: what was begun is for the one before.
    if (leaving === undefined || users === undefined || leaving.begun.url !== users.signIn.url) return gone;
    const { server, principal, session, elicitation, begun } = leaving;
    const connection = await finishSignIn(users.signIn.fetch, begun, query);
    await vault.put(users.placeOf(principal), connection.issuer, connection);
    log.info({ server, principal, issuer: connection.issuer }, 'a user has signed in for a server');
    bus.publish(subjects.notices, { kind: 'elicitation-complete', server, elicitationId: elicitation, sessions: [session] });
    return { kind: 'done', server };
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
