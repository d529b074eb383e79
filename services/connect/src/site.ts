/**
 * The pages on which a user signs in for a server. The user that opens an address must be its owner: else an attacker could send
 * it to another user, have that one sign in, and use the access (MCP security best practices; 2025-11-25 client/elicitation, Phishing).
 */
import {
  basePathOf,
  fault,
  httpStatusOf,
  type ConnectCommand,
  type ConnectReply,
  type GatewayFault,
  type Principal,
  type ServerName,
  type Who,
} from '@omnibus/protocol';
import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { askBackends, type Bus } from '@omnibus/bus';
import type { Site } from '@omnibus/edge';
import { TokenBuckets } from '@omnibus/lifecycle';
import { readMethods, Routes, sendJson, type Logger } from '@omnibus/telemetry';
import { page } from './pages.ts';

/** The address of a sign-in, and its caller. */
interface Asked {
  readonly ticket: string;
  readonly principal: Principal;
  readonly who?: Who | undefined;
}

export interface ConnectSiteOptions {
  readonly bus: Bus;
  readonly log: Logger;
  /** Base URL at which browsers reach the gateway. */
  readonly base: () => string;
  /**
   * Whether the user of the browser that opens an address is its caller.
   * @returns `other` for another user; `unproven` where a browser cannot prove it; `signInAt` with the address where the user must sign in to the gateway first.
   */
  readonly proofOf: (
    asked: Asked,
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<'proven' | 'other' | 'unproven' | { readonly signInAt: string }>;
  /** Authenticates a request for `/connect/connections` by its headers. @returns its caller, or why the gateway refuses it; undefined if the gateway knows no callers. */
  readonly callerOf: (request: IncomingMessage) => Promise<Principal | GatewayFault | undefined>;
  /** The client id metadata document that describes the gateway as an OAuth client to issuers. */
  readonly clientDocument: () => object;
}

/** A request to one of these pages. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
}

const unknown = fault('auth.required', 'this gateway wants to know who asks: send an API key or a token of yours');
const overWords =
  'It was used before, or is older than ten minutes. If you have signed in with it, you can close this page; otherwise go back to the program that gave it to you, and ask again.';
/** Backend workers forget a sign-in after ten minutes, whatever became of it. */
const cookieSeconds = 600;
const maxNames = 10_000;
/** Rate limit of requests to these pages, for each IP address. */
const rate = { burst: 60, everyMs: 1_000, maxNames };

type Looked = Extract<ConnectReply, { readonly kind: 'ticket' }>;

export class ConnectSite implements Site {
  readonly #options: ConnectSiteOptions;
  readonly #opened = new TokenBuckets(rate);
  readonly #routes = new Routes<(visit: Visit) => Promise<void> | void>([
    // HEAD would use up the issuer's answer.
    ['GET', '/connect/callback', ({ request, response, url }) => this.#finish(request, response, url)],
    [readMethods, '/connect/back', ({ response, url }) => this.#back(response, url.searchParams)],
    [readMethods, '/connect/client.json', ({ response }) => this.#describe(response)],
    [readMethods, '/connect/connections', (visit) => this.#connections(visit)],
    ['DELETE', '/connect/connections/:server{[\\w-]{1,64}}', (visit) => this.#connections(visit)],
    [`${readMethods}, POST`, '/connect/:ticket{[\\w-]{22}}', (visit) => this.#ticket(visit)],
  ]);

  constructor(options: ConnectSiteOptions) {
    this.#options = options;
  }

  handles(path: string): boolean {
    return this.#routes.has(path.split('?', 1)[0] as string);
  }

  handle(request: IncomingMessage, response: ServerResponse, address: string): void {
    this.#serve(request, response, address).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a page for a sign-in has failed');
      if (response.headersSent) response.destroy();
      else
        send(
          response,
          500,
          page(
            'This did not work',
            'Something failed here. Go back to the program that sent you here, and begin again.',
          ),
        );
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse, address: string): Promise<void> {
    const url = new URL(request.url ?? '/', this.#options.base());
    if (this.#opened.take(address) > 0) return send(response, 429, page('Too many at once', 'Try again in a minute.'));
    request.resume();
    const found = this.#routes.find(request.method ?? '', url.pathname);
    if (found.kind === 'route') return found.to({ request, response, url, params: found.params });
    if (found.kind !== 'method') return send(response, 404, page('This address is over', overWords));
    const { allowed } = found;
    response.setHeader('allow', allowed);
    return url.pathname.startsWith('/connect/connections')
      ? sendJson(response, 405, { problem: `this address takes ${allowed} only` })
      : send(response, 405, page('This did not work', `This address takes ${allowed} only.`));
  }

  #describe(response: ServerResponse): void {
    response
      .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=3600' })
      .end(JSON.stringify(this.#options.clientDocument()));
  }

  async #ticket({ request, response, params: { ticket = '' } }: Visit): Promise<void> {
    const { base, proofOf } = this.#options;
    const looked = await this.#ask({ kind: 'look', ticket });
    if (looked.kind !== 'ticket') return send(response, 404, page('This address is over', overWords));
    const { principal, who } = looked;
    const proof = await proofOf({ ticket, principal, who }, request, response);
    if (typeof proof === 'object') {
      response
        .writeHead(303, { location: proof.signInAt, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
        .end();
      return undefined;
    }
    // The ticket is not used up by this: it stays valid for its user.
    if (proof === 'other')
      return send(
        response,
        403,
        page(
          'This address is for somebody else',
          'It was given to another user of this gateway. If somebody sent it to you, do not go on: you would let that one use what is yours.',
        ),
      );
    if (request.method !== 'POST') return this.#offer(response, ticket, looked, proof === 'proven');
    if (!isOurs(request, base()))
      return send(
        response,
        403,
        page('This did not work', 'Open the address in your browser, and use the button there.'),
      );
    return this.#begin(response, ticket, looked, proof === 'proven');
  }

  /** Shows where the user is sent. @param isProven whether the user of the ticket is known to sit at this browser. */
  async #offer(response: ServerResponse, ticket: string, { server, host }: Looked, isProven: boolean): Promise<void> {
    const found = await this.#ask({ kind: 'look', ticket, withIssuer: true });
    const where =
      found.kind === 'ticket' && found.issuer !== undefined
        ? `${found.issuer}, where that server has its users sign in`
        : 'where that server has its users sign in';
    return send(
      response,
      200,
      page(
        `Sign in to ${server}`,
        `A program of yours wants to use the server "${server}" at ${host} for you. You are sent to ${where}; what you allow there, ${isProven ? 'only you can use here.' : 'whoever was given this address can use. At the end you are shown a code, which that program wants to know. If somebody sent you this address, do not go on.'}`,
        { label: 'Go on' },
      ),
    );
  }

  /** Sends the user to the issuer. */
  async #begin(
    response: ServerResponse,
    ticket: string,
    { server, principal }: Looked,
    isProven: boolean,
  ): Promise<void> {
    const browser = randomBytes(32).toString('base64url');
    const begun = await this.#ask({ kind: 'begin', ticket, principal, browser, isProven });
    if (begun.kind !== 'leave')
      return send(
        response,
        begun.kind === 'failed' ? 502 : 404,
        begun.kind === 'failed'
          ? page('This did not work', `There is no way to sign in to "${server}" now: ${begun.problem}`)
          : page('This address is over', overWords),
      );
    response
      .writeHead(303, {
        location: begun.address,
        'set-cookie': this.#cookie(new URL(begun.address).searchParams, browser),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .end();
    return undefined;
  }

  /** Lists and revokes a caller's connections, for programs. A browser cannot be tricked into it, since it does not add an `Authorization` header. */
  async #connections({ request, response, params: { server } }: Visit): Promise<void> {
    const principal = await this.#options.callerOf(request);
    if (typeof principal !== 'string') {
      const { reason, message } = principal ?? unknown;
      return sendJson(response, httpStatusOf(reason), { problem: message });
    }
    if (server === undefined) return sendJson(response, 200, await this.#ask({ kind: 'list', principal }));
    const done = await this.#ask({ kind: 'revoke', server: server as ServerName, principal });
    return sendJson(response, done.kind === 'gone' ? 404 : 200, done);
  }

  /** After a sign-in to the gateway: redirects back to the address that required it, which `state` names. */
  #back(response: ServerResponse, query: URLSearchParams): void {
    const ticket = query.get('state') ?? '';
    if (query.has('error') || !/^[\w-]{22}$/.test(ticket))
      return send(
        response,
        403,
        page(
          'You are not signed in',
          'The sign-in to this gateway did not go through. Go back to the program that sent you here, and begin again.',
        ),
      );
    response
      .writeHead(303, {
        location: `${this.#root}/connect/${ticket}`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .end();
  }

  async #finish(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const browser = new RegExp(`(?:^|;\\s*)${this.#cookieName(url.searchParams)}=([\\w-]{43})(?:;|$)`).exec(
      request.headers.cookie ?? '',
    )?.[1];
    const done: ConnectReply =
      browser === undefined ? { kind: 'gone' } : await this.#ask(await finishOf(browser, url.searchParams));
    if (done.kind === 'done') {
      if (done.code !== undefined)
        return send(
          response,
          200,
          page(
            `Your code: ${done.code}`,
            `Say it to the program that gave you the address, when it asks for it: within ten minutes. Nothing can use the server "${done.server}" before that. If somebody sent you the address, tell nobody the code: whoever knows it uses what is yours.`,
          ),
        );
      return send(
        response,
        200,
        page(
          'You are signed in',
          `Programs of yours can use the server "${done.server}" now. You can close this page and go back.`,
        ),
      );
    }
    if (done.kind !== 'failed')
      return send(
        response,
        400,
        page(
          'This did not work',
          'This sign-in is over, or was begun in another browser. If you have signed in on another page, you can close this one; otherwise go back to the program that sent you here, and begin again.',
        ),
      );
    const again =
      done.ticket === undefined ? undefined : { label: 'Try again', href: `${this.#root}/connect/${done.ticket}` };
    return send(
      response,
      400,
      page(
        'You are not signed in',
        `The sign-in was not taken: ${done.problem}. ${again === undefined ? 'Go back to the program that sent you here, and begin again.' : 'You can try again, or close this page.'}`,
        again,
      ),
    );
  }

  /** The path below which the gateway stands. */
  get #root(): string {
    return basePathOf(this.#options.base());
  }

  get #isSecure(): boolean {
    return this.#options.base().startsWith('https:');
  }

  /** One for each sign-in, by its state: a user may sign in for several servers at the same time, each in a tab. */
  #cookieName(query: URLSearchParams): string {
    return `${this.#isSecure ? (this.#root === '' ? '__Host-' : '__Secure-') : ''}omnibus-connect-${hash('sha256', query.get('state') ?? '', 'base64url').slice(0, 16)}`;
  }

  /** It outlives the sign-in, so that its last page can be loaded again. */
  #cookie(query: URLSearchParams, value: string): string {
    return `${this.#cookieName(query)}=${value}; Path=${this.#root === '' ? '/' : this.#root}; Max-Age=${cookieSeconds}; HttpOnly; SameSite=Lax${this.#isSecure ? '; Secure' : ''}`;
  }

  #ask(command: ConnectCommand): Promise<ConnectReply> {
    return askBackends(this.#options.bus, command);
  }
}

/** The code in the answer is encrypted, so that the bus does not show it. */
async function finishOf(browser: string, answer: URLSearchParams): Promise<ConnectCommand> {
  const { sealAnswer } = await import('@omnibus/credentials');
  const sealed = await sealAnswer(answer);
  return {
    kind: 'finish',
    browser,
    state: answer.get('state') ?? '',
    ...(sealed === undefined ? {} : { sealed }),
  };
}

/** Whether a form was sent by a page of this gateway, by the headers `Origin` and `Sec-Fetch-Site` of the browser. */
function isOurs({ headers: { origin, 'sec-fetch-site': site } }: IncomingMessage, base: string): boolean {
  return (
    (origin === undefined || origin === new URL(base).origin) &&
    (site === undefined || site === 'same-origin' || site === 'none')
  );
}

function send(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // With `no-referrer` browsers send the form with `Origin: null`, as they would from a page of another site (Fetch, append a request `Origin` header).
      'referrer-policy': 'same-origin',
      // No `form-action`: it would also block the redirect to the issuer.
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
      'x-frame-options': 'DENY',
    })
    .end(text);
}
