/** The account page, where users see their consents, withdraw them, and sign out. */
import { basePathOf } from '@omnibus/protocol';
import { readMethods, type Route } from '@omnibus/telemetry';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type Provider from 'oidc-provider';
import { readForm, Unwanted } from './form.ts';
import { accountPage, sendPage, wordsPage } from './pages.ts';
import type { Person } from './people.ts';
import { allowedNow } from './programs.ts';
import { accountClient, connectBack } from './settings.ts';
import type { SessionContext, SiteOptions, Step, Visit } from './site-parts.ts';

type Session = Awaited<ReturnType<Provider['Session']['get']>>;

export class Account {
  readonly #options: SiteOptions;

  constructor(options: SiteOptions) {
    this.#options = options;
  }

  readonly routes: readonly Route<Step>[] = [
    [readMethods, '/account', (visit) => this.#show(visit)],
    ['POST', '/account/revoke', (visit) => this.#act(visit, (form) => form.get('grant'))],
    ['POST', '/account/sign-out', (visit) => this.#act(visit, () => undefined)],
  ];

  async #show({ request, response, url: { searchParams: query } }: Visit): Promise<void> {
    const { session, subject, person } = await this.#found(request, response);
    if (subject === undefined || person === undefined) {
      if (query.has('error') || query.has('code'))
        sendPage(response, 403, wordsPage('You are not signed in', 'The sign-in did not go through.'));
      else response.writeHead(303, { location: this.signInAddress(), 'cache-control': 'no-store' }).end();
      return;
    }
    const { people, secrets, publicUrl, provider } = this.#options;
    const token = secrets.formToken(session.uid);
    const allowed = await allowedNow(people, provider(), subject);
    sendPage(response, 200, accountPage(basePathOf(publicUrl), person.name, token, allowed));
  }

  /** @param grantIn the consent that a form withdraws, `*` for all; undefined for a form that only signs the user out. @throws {Unwanted} */
  async #act(
    { request, response, address }: Visit,
    grantIn: (form: URLSearchParams) => string | null | undefined,
  ): Promise<void> {
    const { people, secrets, publicUrl, records } = this.#options;
    const { session, subject, person } = await this.#found(request, response);
    if (subject === undefined || person === undefined) throw new Unwanted(403, 'you are not signed in');
    const form = await readForm(request, publicUrl);
    if (!secrets.isFormToken(session.uid, form.get('token')))
      throw new Unwanted(403, 'this form belongs to another sign-in');
    const grant = grantIn(form);
    if (grant === null) throw new Unwanted(404, 'there is no such page');
    const isAll = grant === '*';
    if (grant !== undefined && !isAll) {
      const client = (await people.allowed(subject)).find(({ grantId }) => grantId === grant)?.clientId;
      await people.takeBack(subject, grant);
      records.consent('withdrawn', { subject, client, address });
      response.writeHead(303, { location: `${basePathOf(publicUrl)}/account`, 'cache-control': 'no-store' }).end();
      return;
    }
    if (isAll) {
      await people.takeBack(subject);
      records.consent('withdrawn', { subject, address });
    }
    await session.destroy();
    response.setHeader('set-cookie', endedCookies(request, publicUrl));
    sendPage(
      response,
      200,
      wordsPage(
        'You are signed out',
        isAll
          ? 'You have taken everything back: the programs that you had allowed have no access any more.'
          : 'Programs that you have allowed keep their access until you take it back.',
      ),
    );
  }

  /** The user signed in in the browser of a request; undefined if there is none. */
  async userOf(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Pick<Person, 'subject' | 'tenant' | 'name' | 'record'> | undefined> {
    const { subject, person } = await this.#found(request, response);
    return subject === undefined || person === undefined
      ? undefined
      : { subject, tenant: person.tenant, name: person.name, record: person.record };
  }

  async #found(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{
    readonly session: Session;
    readonly subject: string | undefined;
    readonly person: Person | undefined;
  }> {
    const { provider, personOf } = this.#options;
    const session = await provider().Session.get(
      provider().createContext(request, response) as unknown as SessionContext,
    );
    const subject = session.accountId;
    return { session, subject, person: subject === undefined ? undefined : await personOf(subject, session.loginTs) };
  }

  /**
   * The address at which the user of a page of ours signs in, as at any client; the code that comes back is not redeemed. @param state of the page that
   * asks, where it is another than this.
   */
  signInAddress(state?: string): string {
    const { publicUrl } = this.#options;
    const query = new URLSearchParams({
      client_id: accountClient,
      response_type: 'code',
      redirect_uri: `${publicUrl}${state === undefined ? '/account' : connectBack}`,
      scope: 'openid',
      code_challenge: randomBytes(32).toString('base64url'),
      code_challenge_method: 'S256',
      ...(state === undefined ? {} : { state }),
    });
    return `${basePathOf(publicUrl)}/authorize?${query.toString()}`;
  }
}

/** Headers that remove the cookies of this server from the browser. */
function endedCookies(request: IncomingMessage, publicUrl: string): string[] {
  const path = basePathOf(publicUrl) || '/';
  const secure = publicUrl.startsWith('https:') ? '; secure' : '';
  return cookiesOf(request)
    .filter((name) => name.includes('omnibus-'))
    .map((name) => `${name}=; path=${path}; expires=Thu, 01 Jan 1970 00:00:00 GMT; httponly; samesite=lax${secure}`);
}

function cookiesOf({ headers: { cookie = '' } }: IncomingMessage): string[] {
  return cookie
    .split(';')
    .map((each) => (each.split('=', 1)[0] as string).trim())
    .filter((name) => /^[\w.-]+$/.test(name));
}
