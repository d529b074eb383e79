/** Routes the addresses of the authorization server: the library serves those of the protocol, our pages the others. */
import { readMethods, Routes, sendJson } from '@omnibus/telemetry';
import { basePathOf, objectIn } from '@omnibus/protocol';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { TokenBucket, TokenBuckets } from '@omnibus/lifecycle';
import { Account } from './account.ts';
import { withAudiences } from './audience.ts';
import { deviceGrant, devicePaths, DevicePolls, takeCode } from './device.ts';
import { Delegations, exchangeGrant } from './exchange/delegations.ts';
import { NotAllowed, readText, Unwanted } from './form.ts';
import { Interactions } from './interactions.ts';
import { sendPage, wordsPage } from './pages.ts';
import { describeClient } from './registration.ts';
import { accountClient } from './settings.ts';
import type { Exchange, SessionContext, SiteOptions, Step, Visit } from './site-parts.ts';

/**
 * Bound on the request of a client for a sign-in, in characters. The server stores all of it until the user has answered, and strangers can send it; the longest
 * known requests, of clients with metadata documents and a long state, have two thousand.
 */
const maxAskedCharacters = 8_192;
/** Bound on addresses and on users with counted attempts. */
const maxNames = 10_000;

export class Site {
  readonly #options: SiteOptions;
  readonly #account: Account;
  /** The path below which the gateway stands. */
  readonly #base: string;
  readonly #routes: Routes<Step>;
  /** Bound for each address on records that strangers cause: a sign-in lives for ten minutes, and a client for months. */
  readonly #begun = new TokenBuckets({ burst: 60, everyMs: 1_000, maxNames });
  /** Bound for each address on typed codes, against guessing: a code is one of 25 thousand million and is valid for ten minutes. */
  readonly #typed = new TokenBuckets({ burst: 30, everyMs: 5_000, maxNames });
  readonly #polls = new DevicePolls();
  readonly #registered = new TokenBuckets({ burst: 30, everyMs: 10_000, maxNames });
  /** The first registrations of an address do not count for the bound of all addresses, so that a few busy addresses keep no other out. */
  readonly #registeredFirst = new TokenBuckets({ burst: 3, everyMs: 10 * 60_000, maxNames });
  readonly #registeredByAll = new TokenBucket({ burst: 300, everyMs: 1_000 });

  constructor(options: SiteOptions) {
    this.#options = options;
    this.#account = new Account(options);
    this.#base = basePathOf(options.publicUrl);
    const asSaid: Step = ({ library, request, response }) => library(request, response);
    const documents = ['oauth-authorization-server', 'openid-configuration', 'jwks.json'];
    this.#routes = new Routes<Step>([
      [readMethods, '/authorize', (visit) => this.#authorize(visit)],
      [readMethods, '/authorize/:uid', (visit) => this.#resume(visit)],
      ['POST', '/token', (visit) => this.#token(visit)],
      ['POST', '/register', (visit) => this.#register(visit)],
      ['OPTIONS', '/register', ({ response }) => allowPages(response)],
      ['POST', '/revoke', asSaid],
      ['POST', devicePaths.authorization, (visit) => this.#authorizeDevice(visit)],
      [readMethods, devicePaths.page, (visit) => this.#askForCode(visit)],
      ['POST', devicePaths.page, (visit) => this.#takeCode(visit)],
      [readMethods, `${devicePaths.page}/:uid`, (visit) => this.#withSession(visit)],
      ...documents.map((name) => [readMethods, `/.well-known/${name}`, asSaid] as const),
      ...['/token', '/revoke', devicePaths.authorization, ...documents.map((name) => `/.well-known/${name}`)].map(
        (path) => ['OPTIONS', path, asSaid] as const,
      ),
      ...new Interactions(options).routes,
      ...this.#account.routes,
    ]);
  }

  handles(path: string): boolean {
    return this.#routes.has(withoutSlash(plainOf(path)));
  }

  handle(exchange: Exchange, library: Visit['library']): void {
    this.#serve(exchange, library).catch((error: unknown) => this.#failed(exchange, error));
  }

  /** The user signed in in the browser of a request to any page of the gateway; undefined if there is none. */
  userOf(request: IncomingMessage, response: ServerResponse): ReturnType<Account['userOf']> {
    this.#place(request);
    return this.#account.userOf(request, response);
  }

  signInAddress(state: string): string {
    return this.#account.signInAddress(state);
  }

  /** Overwrites the headers that name the gateway's address, which the configuration decides and not the request. */
  #place({ headers }: IncomingMessage): void {
    const { protocol: scheme, host } = new URL(this.#options.publicUrl);
    Object.assign(headers, { 'x-forwarded-proto': scheme.slice(0, -1), 'x-forwarded-host': host, host });
  }

  async #serve(exchange: Exchange, library: Visit['library']): Promise<void> {
    const { request, response, address } = exchange;
    const { publicUrl } = this.#options;
    this.#place(request);
    // The page for device codes shows the address of the program.
    request.headers['x-forwarded-for'] = address;
    const url = new URL(request.url ?? '/', publicUrl);
    // To the library, an address with a slash at its end is the same; so that it is the same to every rule here, it has none from here on.
    url.pathname = withoutSlash(url.pathname);
    request.url = `${url.pathname}${url.search}`;
    response.setHeader('strict-transport-security', publicUrl.startsWith('https:') ? 'max-age=31536000' : 'max-age=0');
    const found = this.#routes.find(request.method ?? '', url.pathname);
    if (found.kind === 'method') throw new NotAllowed(found.allowed);
    if (found.kind !== 'route') throw new Unwanted(404, 'there is no such page');
    await found.to({ ...exchange, url, params: found.params, library });
  }

  async #authorize({ request, response, address, url, library }: Visit): Promise<void> {
    this.#begin(address);
    if ((request.url ?? '').length > maxAskedCharacters)
      throw new Unwanted(
        414,
        `the address that the program has opened is longer than ${maxAskedCharacters} characters; its state or another of its parameters is too long`,
      );
    if (url.searchParams.getAll('response_mode').includes('form_post'))
      throw new Unwanted(
        400,
        'the program wants its answer posted by a page (response_mode form_post); answers are in addresses here, since no page has a script',
      );
    request.url = this.#withScopes(url);
    await library(request, response);
  }

  /** A sign-in that goes on is known by its id and the cookie; the library stumbles over parameters there. */
  #resume({ request, response, url, library }: Visit): Promise<void> {
    request.url = url.pathname;
    return library(request, response);
  }

  /** @throws {TooMany} if that address has begun too many sign-ins. */
  #begin(address: string): void {
    const wait = this.#begun.take(address);
    if (wait > 0) throw new TooMany(wait);
  }

  async #askForCode({ request, response, address, url, library }: Visit): Promise<void> {
    this.#begin(address);
    takeCode(request, url.searchParams);
    await library(request, response);
  }

  async #takeCode(visit: Visit): Promise<void> {
    const wait = this.#typed.take(visit.address);
    if (wait > 0) throw new TooMany(wait);
    await this.#withSession(visit);
  }

  /** The library throws an error for a form of a page that was never opened, or has expired. */
  async #withSession(visit: Visit): Promise<void> {
    const { request, response, library } = visit;
    if (await this.#hasSession(visit)) return library(request, response);
    response.writeHead(303, { location: `${this.#base}${devicePaths.page}`, 'cache-control': 'no-store' }).end();
  }

  async #authorizeDevice({ request, response, address, library }: Visit): Promise<void> {
    this.#begin(address);
    const text = await readText(request);
    if (text.length > maxAskedCharacters)
      throw new Unwanted(413, `the form is longer than ${maxAskedCharacters} characters`);
    const form = withAudiences(new URLSearchParams(text), this.#base);
    form.set('scope', this.#scopesFor(form.get('scope')));
    await library(withBody(request, form.toString()), response);
  }

  /** Whether the browser has a cookie of a session that exists. */
  async #hasSession({ request, response }: Exchange): Promise<boolean> {
    const { Session } = this.#options.provider();
    const session = await Session.get(
      this.#options.provider().createContext(request, response) as unknown as SessionContext,
    );
    return session.exp !== undefined;
  }

  async #token({ request, response, address, library }: Omit<Visit, 'url' | 'params'>): Promise<void> {
    const text = await readText(request);
    const form = new URLSearchParams(text);
    if (form.get('grant_type') === assertionGrant) return this.#workload(request, response, form, library);
    if (form.get('grant_type') === exchangeGrant) return this.#exchange({ request, response, address }, form, library);
    if (form.get('grant_type') === clientCredentials) return library(this.#asAgent(request, form), response);
    if (form.get('grant_type') !== deviceGrant || this.#polls.take(form, address))
      return library(
        withBody(
          request,
          form.has('resource') ? withAudiences(form, this.#base).toString() : text,
          request.headers['content-type'],
        ),
        response,
      );
    sendJson(response, 400, {
      error: 'slow_down',
      error_description: 'ask every five seconds, and each time that this is the answer, five seconds more seldom',
    });
  }

  /** The request of an agent for a token, with all scopes that it may have if it names none. */
  #asAgent(request: IncomingMessage, form: URLSearchParams): IncomingMessage {
    const scopes = form.get('scope') ?? this.#options.moreScopes.map(({ name }) => name).join(' ');
    form.set('scope', this.#scopesFor(scopes));
    return withBody(request, withAudiences(form, this.#base).toString(), request.headers['content-type']);
  }

  /** Gives an agent a token with which it acts for a user. The agent authenticates itself, or is a workload whose assertion is the `actor_token`. */
  async #exchange(
    { request, response, address }: Exchange,
    form: URLSearchParams,
    library: Visit['library'],
  ): Promise<void> {
    const { delegations, workloads } = this.#options;
    const refuse = (error: string, problem: string): void =>
      sendJson(response, 400, { error, error_description: problem });
    if (delegations === undefined)
      return refuse('unsupported_grant_type', 'no agent acts for users here (auth.server.agents)');
    const plain = Delegations.plainForm(form);
    if (typeof plain === 'string') return refuse('invalid_request', plain);
    plain.set('grant_type', clientCredentials);
    let ticket: string | undefined;
    if (Delegations.isOfWorkload(form, request.headers.authorization)) {
      const client = form.get('client_id');
      const admitted = await workloads?.admit(
        new URLSearchParams({
          assertion: form.get('actor_token') ?? '',
          ...(client === null ? {} : { client_id: client }),
        }),
        undefined,
      );
      if (admitted === undefined || 'problem' in admitted)
        return refuse('invalid_request', `the actor_token: ${admitted?.problem ?? 'no workload is trusted here'}`);
      ({ ticket } = admitted);
      plain.set('client_id', admitted.client);
      plain.set('client_secret', ticket);
    }
    try {
      const made = this.#asAgent(request, plain);
      delegations.begin(made, { form, address, isOfWorkload: ticket !== undefined });
      await library(made, response);
    } finally {
      if (ticket !== undefined) workloads?.done(ticket);
    }
  }

  /** Gives a workload the token of its agent: after its assertion was verified, the request is that of the agent with a secret for this one request. */
  async #workload(
    request: IncomingMessage,
    response: ServerResponse,
    form: URLSearchParams,
    library: Visit['library'],
  ): Promise<void> {
    const { workloads } = this.#options;
    const admitted = (await workloads?.admit(form, request.headers.authorization)) ?? {
      error: 'unsupported_grant_type',
      problem: 'no workload gets tokens here (auth.server.workloads)',
    };
    if ('problem' in admitted) {
      sendJson(response, 400, { error: admitted.error, error_description: admitted.problem });
      return;
    }
    const scope = form.get('scope');
    const own = new URLSearchParams({
      grant_type: clientCredentials,
      client_id: admitted.client,
      client_secret: admitted.ticket,
      ...(scope === null ? {} : { scope }),
    });
    for (const resource of form.getAll('resource')) own.append('resource', resource);
    try {
      await library(this.#asAgent(request, own), response);
    } finally {
      workloads?.done(admitted.ticket);
    }
  }

  /** Adds the scopes that every token must have to a request that has none of them. */
  #withScopes(url: URL): string {
    withAudiences(url.searchParams, this.#base);
    if (url.searchParams.get('client_id') !== accountClient)
      url.searchParams.set('scope', this.#scopesFor(url.searchParams.get('scope')));
    return `${url.pathname}${url.search}`;
  }

  #scopesFor(wanted: string | null): string {
    const asked = (wanted ?? '')
      .split(' ')
      .filter(
        (scope) =>
          scope === 'openid' ||
          scope === 'offline_access' ||
          this.#options.moreScopes.some(({ name }) => name === scope),
      );
    return [...new Set([...this.#options.scopes, ...asked])].join(' ');
  }

  async #register({ request, response, address, library }: Visit): Promise<void> {
    response.setHeader('access-control-allow-origin', '*');
    const wait = this.#registered.take(address);
    if (wait > 0) throw new TooMany(wait);
    if (this.#registeredFirst.take(address) > 0 && !this.#registeredByAll.take())
      throw new TooMany(this.#registeredByAll.waitSeconds);
    const described = describeClient(objectIn(await readText(request)));
    if ('problem' in described) {
      sendJson(response, 400, { error: described.error, error_description: described.problem });
      return;
    }
    await library(withBody(request, JSON.stringify(described.metadata), 'application/json'), response);
  }

  #failed({ request, response }: Exchange, error: unknown): void {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    if (error instanceof TooMany) response.setHeader('retry-after', error.seconds);
    if (error instanceof NotAllowed) response.setHeader('allow', error.allowed);
    const isExpired = (error as { readonly name?: string }).name === 'SessionNotFound';
    const status = error instanceof Unwanted ? error.status : isExpired ? 400 : 500;
    if (status === 500)
      this.#options.log.error(
        { error: String(error), stack: (error as Error).stack },
        'the authorization server failed while serving a request',
      );
    const words =
      error instanceof Unwanted
        ? error.message
        : isExpired
          ? 'this sign-in has ended, or was begun in another browser'
          : 'an error occurred in the gateway';
    if (forPrograms.test(request.url ?? ''))
      sendJson(response, status, {
        error: status === 500 ? 'server_error' : 'invalid_request',
        error_description: words,
      });
    else
      sendPage(
        response,
        status,
        wordsPage('This did not work', words, 'Go back to the program that sent you here, and begin again.'),
      );
  }
}

/** Web pages may register as clients; without the consent of a user, a registration gives no access. */
function allowPages(response: ServerResponse): Promise<void> {
  response
    .writeHead(204, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type, authorization, mcp-protocol-version',
    })
    .end();
  return Promise.resolve();
}

const clientCredentials = 'client_credentials';
export const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Addresses that programs request, and browsers do not show. */
const forPrograms = /^\/(?:register|token|revoke|device_authorization)(?:[/?]|$)/;

class TooMany extends Unwanted {
  readonly seconds: number;

  constructor(seconds: number) {
    super(429, `too many at once; try again in ${seconds} seconds`);
    this.seconds = seconds;
  }
}

/** The same request with another body, since its own has been read. */
function withBody(
  { method, url = '/', headers, socket, httpVersion }: IncomingMessage,
  text: string,
  type = 'application/x-www-form-urlencoded',
): IncomingMessage {
  const body = Buffer.from(text);
  return Object.assign(Readable.from([body]), {
    method,
    url: plainOf(url),
    socket,
    httpVersion,
    headers: {
      ...headers,
      'content-type': type,
      'content-length': String(body.length),
      'transfer-encoding': undefined,
    },
  }) as unknown as IncomingMessage;
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, '');
}

function plainOf(path: string): string {
  const query = path.indexOf('?');
  return query === -1 ? path : path.slice(0, query);
}
