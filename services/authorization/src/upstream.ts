/**
 * Users of an OpenID provider (third-party authorization, MCP authorization 2025-03-26, 2.10): they sign in there, and get tokens of the gateway that last
 * no longer than that sign-in.
 */
import type { JWTVerifyGetKey } from 'jose';
import type { Configuration } from 'openid-client';
import type { JsonObject } from '@omnibus/protocol';
import { NotSignedIn, userOf, type OAuthProvider } from './oauth-user.ts';
import { isSameSession, type People, type Person, type UpstreamSession } from './people.ts';
import type { Secrets } from './secrets.ts';
import { isRefusal, signInFailure, SignInProblem, SignInRefused } from './sign-in-failure.ts';
import { userIn, type UserClaims } from './upstream-user.ts';

export interface SignInOptions extends UserClaims {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly scopes: readonly string[];
  /** Further parameters of the address at which users sign in. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Whether ID tokens are stored, for servers with assertions of the provider; default: no. */
  readonly keepsIdTokens?: (() => boolean) | undefined;
  /** Whether capital and small letters are the same in the names of its users; default: no. */
  readonly isAnyCase?: boolean;
  /** The request to a provider without OpenID Connect for its user. */
  readonly oauth?: OAuthProvider | undefined;
}

interface Begun {
  readonly uid: string;
  readonly nonce: string;
  readonly verifier: string;
}

const statePlace = 'sign-in';
/** Seconds that a provider has to answer. */
const answerSeconds = 10;
/** Shortest time between two questions whether a sign-in still holds; each is a refresh at the provider. */
const askEveryMs = 1_000;
/** After this time a question counts as ended, in case the process that asked is gone: longer than the provider may take for its metadata and its answer. */
const askingMs = (2 * answerSeconds + 5) * 1_000;
/** For this long, users stay signed in when the provider cannot be reached. */
const unansweredMs = 24 * 3_600_000;
/** An ID token is not used this shortly before it expires, since it might expire on its way. */
const idTokenMarginMs = 10_000;
const retryMs = 5_000;

export class Upstream {
  readonly #options: SignInOptions;
  readonly #redirectUri: string;
  readonly #secrets: Secrets;
  readonly #people: People;
  #configuration: Promise<Configuration> | undefined;
  #logoutKeys: JWTVerifyGetKey | undefined;

  constructor(options: SignInOptions, publicUrl: string, secrets: Secrets, people: People) {
    this.#options = options;
    this.#redirectUri = `${publicUrl}/federation/callback`;
    this.#secrets = secrets;
    this.#people = people;
  }

  /** Host of the provider, for pages. */
  get host(): string {
    return new URL(this.#options.issuer).host;
  }

  /**
   * The address at which a user signs in.
   * @param uid of the interaction that the user is in.
   * @param asksAgain whether an OpenID provider asks for the name again although its own session continues (OpenID Connect Core 3.1.2.1).
   */
  async begin(uid: string, asksAgain = false): Promise<string> {
    const client = await import('openid-client');
    const configuration = await this.#discovered();
    const { oauth, parameters, scopes } = this.#options;
    const begun: Begun = { uid, nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
    return client.buildAuthorizationUrl(configuration, {
      ...parameters,
      ...(asksAgain && oauth === undefined ? { prompt: withLogin(parameters['prompt']) } : {}),
      redirect_uri: this.#redirectUri,
      scope: scopes.join(' '),
      response_type: 'code',
      state: this.#secrets.seal(statePlace, JSON.stringify(begun)),
      ...(oauth === undefined ? { nonce: begun.nonce } : {}),
      code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  /** The interaction that a user left for the provider. @returns undefined for a state that is not ours. */
  uidOf(state: string): string | undefined {
    return this.#opened(state)?.uid;
  }

  /**
   * Identifies the user that has returned from the provider.
   * @param query of the callback; the browser was checked to be the one that was sent away.
   * @throws {SignInProblem}
   */
  async finish(query: URLSearchParams): Promise<Person> {
    const client = await import('openid-client');
    const configuration = await this.#discovered();
    const state = query.get('state') ?? '';
    const begun = this.#opened(state);
    if (begun === undefined) throw new SignInProblem('the sign-in was not begun here');
    const { oauth } = this.#options;
    let tokens: Awaited<ReturnType<typeof client.authorizationCodeGrant>>;
    try {
      tokens = await client.authorizationCodeGrant(configuration, new URL(`${this.#redirectUri}?${query.toString()}`), {
        pkceCodeVerifier: begun.verifier,
        expectedState: state,
        ...(oauth === undefined ? { expectedNonce: begun.nonce, idTokenExpected: true } : {}),
      });
    } catch (error) {
      throw new (isRefusal(client, error) ? SignInRefused : SignInProblem)(signInFailure(client, error, this.host), {
        cause: error,
      });
    }
    const now = Date.now();
    if (oauth !== undefined) {
      const user = await userOf(oauth, tokens.access_token, this.#options.groups).catch((error: unknown) => {
        throw new SignInProblem(`${this.host} does not say who you are`, { cause: error });
      });
      return this.#personOf(user, {
        refreshToken: tokens.refresh_token,
        accessToken: tokens.access_token,
        endsAt: undefined,
        checkedAt: now,
        askingUntil: 0,
        sid: undefined,
      });
    }
    const claims = tokens.claims() as JsonObject;
    return this.#personOf(claims, {
      refreshToken: tokens.refresh_token,
      ...this.#kept(tokens.id_token),
      endsAt: tokens.refresh_token === undefined ? endOf(claims, tokens.expiresIn(), now) : undefined,
      checkedAt: now,
      askingUntil: 0,
      sid: typeof claims['sid'] === 'string' ? claims['sid'] : undefined,
    });
  }

  /** Whether a user is still signed in at the provider. Of several edges and requests, one asks. */
  async lasts(person: Person): Promise<boolean> {
    const { subject, upstream } = person;
    if (upstream === undefined) return true;
    const now = Date.now();
    if (upstream.endsAt !== undefined) return now < upstream.endsAt;
    if (upstream.refreshToken === undefined && upstream.accessToken === undefined) return false;
    if (now - upstream.checkedAt < askEveryMs || now < upstream.askingUntil) return true;
    let asks = false;
    await this.#people.change(subject, (known) => {
      asks =
        known.upstream !== undefined && isSameSession(known.upstream, upstream) && known.upstream.askingUntil <= now;
      return asks ? { ...known, upstream: { ...upstream, askingUntil: now + askingMs } } : undefined;
    });
    return asks ? this.#ask(person, upstream) : true;
  }

  async #ask({ subject, tenant }: Person, asked: UpstreamSession): Promise<boolean> {
    const client = await import('openid-client');
    const { issuer, oauth, subject: subjectClaim, groups: groupsClaim } = this.#options;
    const { refreshToken, accessToken = '', checkedAt } = asked;
    try {
      const tokens =
        refreshToken === undefined ? undefined : await client.refreshTokenGrant(await this.#discovered(), refreshToken);
      const fresh = tokens?.access_token ?? accessToken;
      // Many providers give no new ID token with a refresh: then nothing has changed.
      const claims =
        oauth === undefined ? (tokens?.claims() as JsonObject | undefined) : await userOf(oauth, fresh, groupsClaim);
      // A new ID token may leave out the claim with the subject, since it is of the same user (OpenID Connect Core, 12.2).
      const user =
        claims === undefined
          ? undefined
          : userIn({ [subjectClaim]: subject.slice(`${issuer}|`.length), ...claims }, this.#options);
      if (typeof user === 'string' || (user !== undefined && (user.subject !== subject || user.tenant !== tenant)))
        return false;
      // The answer is about the sign-in of the question: its user may have signed in again meanwhile, or have signed out.
      await this.#people.change(subject, (person) =>
        person.upstream === undefined || !isSameSession(person.upstream, asked)
          ? undefined
          : {
              ...person,
              ...(user === undefined ? {} : { groups: user.groups }),
              upstream: {
                ...person.upstream,
                refreshToken: tokens?.refresh_token ?? refreshToken,
                ...(oauth === undefined ? {} : { accessToken: fresh }),
                ...this.#kept(tokens?.id_token),
                checkedAt: Date.now(),
                askingUntil: 0,
              },
            },
      );
      return true;
    } catch (error) {
      if (
        error instanceof NotSignedIn ||
        (error instanceof client.ResponseBodyError && error.error === 'invalid_grant')
      )
        return false;
      return Date.now() - checkedAt < unansweredMs;
    }
  }

  /**
   * The provider's ID token of a user, for requests of assertions at the provider. If it has expired, the gateway requests another one.
   * @throws {SignInProblem} in words when there is none that is good.
   */
  async idToken(subject: string): Promise<string> {
    const good = async (): Promise<string | undefined> => {
      const { idToken } = (await this.#people.find(subject))?.upstream ?? {};
      return idToken !== undefined &&
        ((await import('jose')).decodeJwt(idToken).exp ?? 0) * 1_000 > Date.now() + idTokenMarginMs
        ? idToken
        : undefined;
    };
    const known = await good();
    if (known !== undefined) return known;
    const person = await this.#people.find(subject);
    if (person?.upstream?.refreshToken !== undefined) await this.lasts(person);
    const fresh = person?.upstream === undefined ? undefined : await good();
    if (fresh === undefined)
      throw new SignInProblem(
        `${this.host} has given no ID token of this user that is still good: he has to sign in at the gateway again`,
      );
    return fresh;
  }

  #kept(idToken: string | undefined): Pick<UpstreamSession, 'idToken'> {
    return idToken === undefined || this.#options.keepsIdTokens?.() !== true ? {} : { idToken };
  }

  /**
   * The user that has signed out at the provider, according to a logout token.
   * @returns undefined when the token is not valid.
   * @throws {SignInProblem} when that cannot be found out now.
   */
  async loggedOut(token: string): Promise<string | undefined> {
    const { createRemoteJWKSet, errors, jwtVerify } = await import('jose');
    const { issuer, jwks_uri: keys } = (await this.#discovered()).serverMetadata();
    if (keys === undefined) return undefined;
    this.#logoutKeys ??= createRemoteJWKSet(new URL(keys), { timeoutDuration: answerSeconds * 1_000 });
    try {
      const { payload } = await jwtVerify(token, this.#logoutKeys, {
        issuer,
        audience: this.#options.clientId,
        algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: 300,
      });
      const { events, nonce, sid, sub } = payload as Readonly<Record<string, unknown>>;
      if (
        nonce !== undefined ||
        typeof events !== 'object' ||
        events === null ||
        !('http://schemas.openid.net/event/backchannel-logout' in events)
      )
        return undefined;
      const ofSession = typeof sid === 'string' ? await this.#people.ofUpstreamSession(sid) : undefined;
      if (ofSession !== undefined) return ofSession;
      // The session had no id when its user signed in; the token then must name the user (Back-Channel Logout 1.0, 2.4).
      return typeof sub === 'string' && this.#options.subject === 'sub' ? `${this.#options.issuer}|${sub}` : undefined;
    } catch (error) {
      // Errors about the token are of classes of their own; those of fetching keys are a general one, or not of this library.
      const isOfToken =
        error instanceof errors.JOSEError &&
        error.code !== errors.JOSEError.code &&
        !(error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid);
      if (!isOfToken) throw new SignInProblem(`the keys of ${this.host} cannot be read now`, { cause: error });
      return undefined; // The answer says that the token is not valid.
    }
  }

  #opened(state: string): Begun | undefined {
    const text = this.#secrets.open(statePlace, state);
    return text === undefined ? undefined : (JSON.parse(text) as Begun);
  }

  #discovered(): Promise<Configuration> {
    this.#configuration ??= this.#discover().catch(async (error: unknown) => {
      // Requests that come a moment later need not ask again.
      setTimeout(() => {
        this.#configuration = undefined;
      }, retryMs).unref();
      throw new SignInProblem(signInFailure(await import('openid-client'), error, this.host), { cause: error });
    });
    return this.#configuration;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret, oauth } = this.#options;
    if (oauth !== undefined) {
      const known = new client.Configuration(
        { issuer, authorization_endpoint: oauth.authorizationUrl, token_endpoint: oauth.tokenUrl },
        clientId,
        clientSecret,
        clientSecret === undefined ? client.None() : undefined,
      );
      known.timeout = answerSeconds;
      // The configuration allows http:// on this machine only.
      if (oauth.tokenUrl.startsWith('http:')) client.allowInsecureRequests(known);
      return known;
    }
    const configuration = await client.discovery(
      new URL(issuer),
      clientId,
      clientSecret,
      clientSecret === undefined ? client.None() : undefined,
      {
        timeout: answerSeconds,
        // The configuration allows http:// on this machine only.
        ...(issuer.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {}),
      },
    );
    return configuration;
  }

  /** @throws {SignInProblem} */
  #personOf(claims: JsonObject, upstream: UpstreamSession): Person {
    const user = userIn(claims, this.#options);
    if (typeof user === 'string') throw new SignInProblem(user);
    return { ...user, upstream };
  }
}

/** @param prompt that of the configuration, in which `none` may not stand beside another one. */
const withLogin = (prompt = ''): string =>
  [...new Set([...prompt.split(' ').filter((each) => each !== '' && each !== 'none'), 'login'])].join(' ');

/** The end of a sign-in if the provider answers no questions: that of its token. */
function endOf(claims: Readonly<Record<string, unknown>>, seconds: number | undefined, now: number): number {
  if (seconds !== undefined) return now + seconds * 1_000;
  return typeof claims['exp'] === 'number' ? claims['exp'] * 1_000 : now;
}
