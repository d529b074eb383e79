/** The pages of a sign-in and of consent, between a client's request and its answer. */
import { TokenBuckets } from '@omnibus/lifecycle';
import { isLoopback, basePathOf } from '@omnibus/protocol';
import { readMethods, type Route } from '@omnibus/telemetry';
import type Provider from 'oidc-provider';
import { readForm, Unwanted } from './form.ts';
import { consentPage, sendPage, signInPage, wordsPage } from './pages.ts';
import { answerPlace } from './registration.ts';
import type { Exchange, SessionContext, SiteOptions, Step, Visit } from './site-parts.ts';
import { SignInProblem, SignInRefused } from './sign-in-failure.ts';
import { maxPasswordCharacters } from './users.ts';

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

const maxNameCharacters = 128;
/** Lifetime of a browser's session without a sign-in. */
const interactionSeconds = 10 * 60;
/**
 * Bounds on guessing passwords: for one user from one address, ten at once and then one a minute; for any users from one address, twenty at once and then
 * one in six seconds. For one user from all addresses there are ten times as many as from one, so that a stranger at one address locks no user out.
 */
const perUserAtAddress = { burst: 10, everyMs: 60_000, maxNames: 10_000 };
const perAddress = { burst: 20, everyMs: 6_000, maxNames: 10_000 };
const perUser = { burst: 100, everyMs: 6_000, maxNames: 10_000 };

/** A step of a sign-in. @param sent the query of a page, the fields of a form. */
type Action = (exchange: Exchange, details: Details, sent: URLSearchParams) => Promise<void>;

export class Interactions {
  readonly #options: SiteOptions;
  readonly #byUser = new TokenBuckets(perUser);
  readonly #byUserAtAddress = new TokenBuckets(perUserAtAddress);
  readonly #byAddress = new TokenBuckets(perAddress);
  readonly #base: string;
  readonly routes: readonly Route<Step>[] = [
    this.#page('', (exchange, details) => this.#show(exchange, details)),
    this.#page('/upstream', (exchange, details) => this.#leave(exchange, details)),
    this.#page('/federated', (exchange, details, query) => this.#federated(exchange, details, query)),
    this.#form('/login', (exchange, details, form) => this.#signIn(exchange, details, form)),
    this.#form('/consent', (exchange, details) => this.#allow(exchange, details)),
    this.#form('/abort', (exchange, details) => this.#abort(exchange, details)),
    [readMethods, '/federation/callback', (visit) => this.#callback(visit)],
    ['POST', '/federation/logout', (visit) => this.#loggedOut(visit)],
  ];

  constructor(options: SiteOptions) {
    this.#options = options;
    this.#base = basePathOf(options.publicUrl);
  }

  #page(path: string, action: Action): Route<Step> {
    const step: Step = async (visit) => action(visit, await this.#detailsOf(visit), visit.url.searchParams);
    return ['GET', `/interaction/:uid${path}`, step];
  }

  #form(path: string, action: Action): Route<Step> {
    const step: Step = async (visit) => {
      const details = await this.#detailsOf(visit);
      const form = await readForm(visit.request, this.#options.publicUrl);
      if (!this.#options.secrets.isFormToken(details.uid, form.get('token')))
        throw new Unwanted(403, 'this form belongs to another sign-in');
      return action(visit, details, form);
    };
    return ['POST', `/interaction/:uid${path}`, step];
  }

  /** The cookie identifies the sign-in; browsers send it to this path only. @throws {Unwanted} */
  async #detailsOf({ request, response, params }: Visit): Promise<Details> {
    const details = await this.#options.provider().interactionDetails(request, response);
    if (details.uid !== params['uid']) throw new Unwanted(400, 'this sign-in was begun in another browser');
    return details;
  }

  /** The user comes back from the OpenID provider. Browsers send the cookie of the sign-in under its own path only, so they are redirected there. */
  #callback({ response, url: { searchParams: query } }: Visit): Promise<void> {
    const uid = this.#options.upstream?.uidOf(query.get('state') ?? '');
    if (uid === undefined) return Promise.reject(new Unwanted(400, 'this sign-in was not begun here'));
    response
      .writeHead(303, {
        location: `${this.#base}/interaction/${encodeURIComponent(uid)}/federated?${query.toString()}`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .end();
    return Promise.resolve();
  }

  /** The OpenID provider reports that a user has signed out (OpenID Connect Back-Channel Logout 1.0). */
  async #loggedOut({ request, response }: Visit): Promise<void> {
    const { upstream, people, publicUrl } = this.#options;
    if (upstream === undefined) throw new Unwanted(404, 'there is no such page');
    const form = await readForm(request, publicUrl);
    const subject = await upstream.loggedOut(form.get('logout_token') ?? '').catch((error: unknown) => {
      if (!(error instanceof SignInProblem)) throw error;
      this.#options.log.warn(
        { problem: error.message, cause: String(error.cause) },
        'a sign-out that the OpenID provider tells cannot be checked',
      );
      throw new Unwanted(503, error.message);
    });
    if (subject === undefined) throw new Unwanted(400, 'this is not a logout token of the provider');
    await people.takeBack(subject);
    this.#options.records.consent('withdrawn', { subject });
    await people.change(subject, (person) => ({ ...person, upstream: undefined }));
    response.writeHead(200, { 'cache-control': 'no-store' }).end();
  }

  async #show(exchange: Exchange, details: Details): Promise<void> {
    if (details.prompt.name === 'consent') return this.#showConsent(exchange, details);
    if (details.prompt.name !== 'login') throw new Unwanted(400, 'there is no such page');
    // A form with a device code may lead nowhere but to this server, so its user gets a link instead of a redirect.
    if (this.#options.users() === undefined && details.params['redirect_uri'] !== undefined)
      return this.#leave(exchange, details);
    return this.#showSignIn(exchange, details, 200, '', undefined);
  }

  async #showSignIn(
    { response }: Exchange,
    { uid, params }: Details,
    status: number,
    name: string,
    problem: string | undefined,
  ): Promise<void> {
    const { secrets, upstream, provider } = this.#options;
    const client = await provider().Client.find(String(params['client_id']));
    sendPage(
      response,
      status,
      signInPage({
        action: `${this.#base}/interaction/${uid}`,
        formToken: secrets.formToken(uid),
        clientName: client?.clientName ?? String(params['client_id']),
        hasUsers: this.#options.users() !== undefined,
        upstreamHost: upstream?.host,
        leadsToProgram: params['redirect_uri'] !== undefined,
        name,
        problem,
      }),
    );
  }

  async #leave({ response, address }: Exchange, { uid, prompt, params }: Details): Promise<void> {
    const { upstream } = this.#options;
    if (upstream === undefined || prompt.name !== 'login') throw new Unwanted(404, 'there is no such page');
    const asksAgain = typeof params['prompt'] === 'string' && params['prompt'].split(' ').includes('login');
    try {
      response
        .writeHead(303, {
          location: await upstream.begin(uid, asksAgain),
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
        })
        .end();
    } catch (error) {
      this.#refuse(response, error, address);
    }
  }

  async #federated(exchange: Exchange, details: Details, query: URLSearchParams): Promise<void> {
    const { upstream, people, provider } = this.#options;
    const { response, address } = exchange;
    const { uid, prompt, params } = details;
    // With the state of another person, this browser would be signed in as that person.
    if (upstream === undefined || prompt.name !== 'login' || upstream.uidOf(query.get('state') ?? '') !== uid)
      throw new Unwanted(400, 'this sign-in was begun in another browser');
    try {
      const person = await upstream.finish(query);
      await people.signedIn(person);
      this.#options.metrics.callers.signedIn('provider', 'good');
      this.#options.records.signedIn({
        way: 'provider',
        outcome: 'ok',
        subject: person.subject,
        client: String(params['client_id']),
        address,
      });
      await this.#goOn(exchange, details, { accountId: person.subject });
    } catch (error) {
      if (!(error instanceof SignInRefused)) return this.#refuse(response, error, address);
      this.#note(error, address);
      // A user with a local sign-in, too, gets a choice; else the waiting program gets the refusal.
      if (this.#options.users() !== undefined)
        return this.#showSignIn(exchange, details, 403, '', `You are not signed in: ${error.message}.`);
      await provider().interactionFinished(
        exchange.request,
        response,
        { error: 'access_denied', error_description: error.message },
        { mergeWithLastSubmission: false },
      );
    }
  }

  #note(problem: SignInProblem, address: string): void {
    this.#options.metrics.callers.signedIn('provider', 'refused');
    this.#options.records.signedIn({ way: 'provider', outcome: 'denied', address, reason: 'refused' });
    this.#options.log.warn(
      { problem: problem.message, cause: String(problem.cause) },
      'a sign-in at the OpenID provider has failed',
    );
  }

  /** @throws {Error} any error that is not a failed sign-in at the provider. */
  #refuse(response: Exchange['response'], error: unknown, address: string): void {
    if (!(error instanceof SignInProblem)) throw error;
    this.#note(error, address);
    sendPage(
      response,
      502,
      wordsPage(
        'This did not work',
        `${error.message}.`,
        'Go back to the program that sent you here, and begin again.',
      ),
    );
  }

  async #signIn(exchange: Exchange, details: Details, form: URLSearchParams): Promise<void> {
    const { response, address } = exchange;
    const { users, people, log, metrics, records } = this.#options;
    const client = String(details.params['client_id']);
    const known = users();
    if (known === undefined || details.prompt.name !== 'login') throw new Unwanted(404, 'there is no such page');
    const name = (form.get('name') ?? '').trim().slice(0, maxNameCharacters);
    const password = form.get('password') ?? '';
    const place = JSON.stringify([name, address]);
    // Attempts from an address that has none left do not count against the user, and create no entry in the table of users.
    const wait = this.#byAddress.take(address) || this.#byUserAtAddress.take(place) || this.#byUser.take(name);
    if (wait > 0) {
      metrics.callers.signedIn('password', 'throttled');
      records.signedIn({ way: 'password', outcome: 'denied', subject: name, client, address, reason: 'throttled' });
      response.setHeader('retry-after', wait);
      return this.#showSignIn(exchange, details, 429, name, `Too many attempts. Try again in ${wait} seconds.`);
    }
    const user = password.length > maxPasswordCharacters ? undefined : await known.verify(name, password);
    if (user === 'busy') metrics.callers.signedIn('password', 'throttled');
    if (user === 'busy')
      return this.#showSignIn(
        exchange,
        details,
        503,
        name,
        'Too many people are signing in at this moment. Try again.',
      );
    if (user === undefined) {
      metrics.callers.signedIn('password', 'refused');
      records.signedIn({ way: 'password', outcome: 'denied', subject: name, client, address, reason: 'refused' });
      log.warn({ user: name, address }, 'a user could not sign in');
      return this.#showSignIn(exchange, details, 403, name, 'The name or the password is wrong.');
    }
    metrics.callers.signedIn('password', 'good');
    records.signedIn({ way: 'password', outcome: 'ok', subject: user.name, client, address });
    this.#byAddress.giveBack(address);
    this.#byUserAtAddress.giveBack(place);
    this.#byUser.giveBack(name);
    await people.signedInBy(user);
    await this.#goOn(exchange, details, { accountId: user.name, amr: ['pwd'] });
  }

  /** The user is authenticated. */
  async #goOn(
    { request, response }: Exchange,
    details: Details,
    login: { readonly accountId: string; readonly amr?: string[] },
  ): Promise<void> {
    const { provider } = this.#options;
    const current = await provider().Session.get(
      provider().createContext(request, response) as unknown as SessionContext,
    );
    const isOfAnother = current.accountId !== undefined && current.accountId !== login.accountId;
    // The library would end the session of the other user by a page with a script, at an address that is none here. A session of another browser it refuses.
    if (isOfAnother && (details.session === undefined || details.session.uid === current.uid)) {
      await current.destroy();
      // The browser's sign-in continues, as in one without a session.
      for (const name of ['accountId', 'loginTs', 'authorizations', 'amr', 'acr'] as const) delete current[name];
      await current.save(interactionSeconds);
      delete details.session;
      await details.save(details.exp - Math.floor(Date.now() / 1_000));
    }
    // A later consent keeps this time: an end of the user's sign-ins meanwhile ends this one, too.
    await provider().interactionFinished(
      request,
      response,
      { login: { ...login, ts: Math.floor(Date.now() / 1_000), remember: true } },
      { mergeWithLastSubmission: false },
    );
  }

  #abort({ request, response, address }: Exchange, { session, params }: Details): Promise<void> {
    const { provider, records } = this.#options;
    records.consent('refused', { subject: session?.accountId, client: String(params['client_id']), address });
    return provider().interactionFinished(
      request,
      response,
      { error: 'access_denied', error_description: 'the user has refused' },
      { mergeWithLastSubmission: false },
    );
  }

  async #showConsent({ response }: Exchange, { uid, params, session, prompt }: Details): Promise<void> {
    const { secrets, people, users, provider, serversAt, scopes, moreScopes } = this.#options;
    const subject = session?.accountId ?? '';
    const clientId = String(params['client_id']);
    const { redirect_uri: asked } = params;
    const redirectUri = typeof asked === 'string' ? asked : '';
    const client = await provider().Client.find(clientId);
    const person = users()?.find(subject) ?? (await people.find(subject));
    const tenant = person !== undefined && 'tenant' in person ? person.tenant : undefined;
    // The library reports only scopes without an earlier consent as missing; tokens get all requested scopes.
    const { missingResourceScopes: missing = {} } = prompt.details as {
      readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
    };
    const { scope = '' } = params;
    const asksFor = (typeof scope === 'string' ? scope : '')
      .split(' ')
      .filter((scope) => scopes.includes(scope) || moreScopes.some(({ name }) => name === scope));
    const wanted = [...new Set([...asksFor, ...Object.values(missing).flat()])];
    const resources = [...new Set([...[params['resource'] ?? []].flat().map(String), ...Object.keys(missing)])];
    sendPage(
      response,
      200,
      consentPage({
        action: `${this.#base}/interaction/${uid}`,
        formToken: secrets.formToken(uid),
        clientName: client?.clientName,
        clientId,
        redirectHost: answerPlace(params),
        isOnThisComputer: isLoopback(redirectUri),
        isAddress: clientId.startsWith('https://'),
        person: person?.name ?? subject,
        scopes: wanted.map(
          (name) => moreScopes.find((more) => more.name === name) ?? { name, isAnnounced: true, administers: false },
        ),
        resources: resources.map((address) => ({ address, servers: serversAt(address, tenant) ?? [] })),
        leadsToProgram: asked !== undefined,
      }),
    );
  }

  async #allow({ request, response, address }: Exchange, { params, session, prompt, grantId }: Details): Promise<void> {
    const { people, provider, log, records } = this.#options;
    const subject = session?.accountId;
    if (prompt.name !== 'consent' || subject === undefined) throw new Unwanted(400, 'nothing was asked');
    const { Grant, Client } = provider();
    const clientId = String(params['client_id']);
    const known = grantId === undefined ? undefined : await Grant.find(grantId);
    const grant =
      known?.accountId === subject && known.clientId === clientId ? known : new Grant({ accountId: subject, clientId });
    const { missingOIDCScope: oidc, missingResourceScopes: resources = {} } = prompt.details as {
      readonly missingOIDCScope?: readonly string[];
      readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
    };
    if (oidc !== undefined) grant.addOIDCScope(oidc.join(' '));
    for (const [resource, scopes] of Object.entries(resources)) grant.addResourceScope(resource, scopes.join(' '));
    const saved = await grant.save();
    const client = await Client.find(clientId);
    await people.allow(subject, {
      grantId: saved,
      clientId,
      clientName: client?.clientName,
      redirectHosts: [answerPlace(params)],
      scopes: [...new Set(Object.values(resources).flat())],
      resources: Object.keys(resources),
      at: Date.now(),
    });
    log.info({ client: clientId, user: subject }, 'a user has allowed a client to act for him');
    records.consent('given', {
      subject,
      client: clientId,
      address,
      scopes: [...new Set(Object.values(resources).flat())],
      resources: Object.keys(resources),
    });
    await provider().interactionFinished(
      request,
      response,
      { consent: { grantId: saved } },
      { mergeWithLastSubmission: true },
    );
  }
}
