/** Authenticates the sender of a request, in any of the configured ways. */
import { isDeepStrictEqual } from 'node:util';
import { decodeJwt } from 'jose';
import { fault, printable, type EndpointName, type GatewayFault, type JsonObject } from '@omnibus/protocol';
import { ApiKeys } from './api-keys.ts';
import { ClientCertificates, type ClientCertificatesOptions, type Peer } from './client-certificates.ts';
import type { DirectoryGroups } from './directory-groups.ts';
import { credentialOf, queryProblem, saysBound, type Request } from './credential.ts';
import type { Facts, Verdict } from './facts.ts';
import { canonical, type Proof } from './issuers/claims.ts';
import { Issuer, type IssuerOptions, type Outcome } from './issuers/issuer.ts';
import { seldom } from './issuers/seldom.ts';
import { TokenReview, type TokenReviewOptions } from './issuers/token-review.ts';
import { isKey, type ToolProblem } from './key-file.ts';
import { KnownTokens } from './known-tokens.ts';
import { Possession, type Binding, type PossessionOptions } from './possession.ts';
import { Tally } from './tally.ts';
import { OwnTokens, type OwnServer } from './own-tokens.ts';
import { TrustedProxy, type TrustedProxyOptions } from './trusted-proxy.ts';

/** The address of the gateway, and what tokens need there. */
interface ResourceOptions {
  /** Without a path: `https://mcp.example.com`. Undefined where only tokens for `audience` are accepted. */
  readonly publicUrl: string | undefined;
  /** Audiences that every endpoint accepts; if empty, the address of `/mcp`. */
  readonly audience: readonly string[];
  /** Scopes that each token must have. */
  readonly scopes: readonly string[];
}

export interface AuthenticatorOptions {
  readonly keysFile?: string | undefined;
  /** Reports problems of the patterns of keys for certain tools. */
  readonly toolProblem?: ToolProblem | undefined;
  readonly issuers: readonly IssuerOptions[];
  /** Undefined where there are no issuers. */
  readonly resource?: ResourceOptions | undefined;
  readonly proxy?: TrustedProxyOptions | undefined;
  readonly certificates?: ClientCertificatesOptions | undefined;
  /** The cluster of accepted service accounts. */
  readonly kubernetes?: TokenReviewOptions | undefined;
  /** The gateway's own authorization server; undefined where there is none. */
  readonly own?: OwnServer | undefined;
  /** How holders of bound tokens prove their keys; undefined where bound tokens are not accepted, as at the admin port of another process than an edge. */
  readonly possession?: PossessionOptions | undefined;
  /** Whether every token must be bound to a key. */
  readonly needsBinding?: boolean | undefined;
  /** Called with the token of each request that is known by one, except at the admin port. @returns the facts that the request goes on with. */
  readonly held?: ((facts: Facts, token: string) => Facts) | undefined;
  /** Groups that directories give callers; left out where there are none. */
  readonly directories?: DirectoryGroups | undefined;
  /** Reports a problem to the operator. */
  readonly warn: (details: Readonly<Record<string, unknown>>, text: string) => void;
}

export interface Place {
  /** Address of the request, with its query. */
  readonly url: string;
  readonly endpoint: EndpointName;
  /** It is the admin port, which no API key for certain endpoints or tools is good for. */
  readonly isAdminPort?: true;
  /** Address of the other end of the connection. */
  readonly peer: string | undefined;
  /** The connection if it speaks TLS, which may have shown a certificate. */
  readonly secure?: Peer | undefined;
  /** The address under which the client is counted. */
  readonly address: () => string;
}

/** First parts of the addresses of an endpoint; a client sends the one that it knows as the audience. */
const fronts = ['/mcp', '/sse', '/ws'] as const;

/** Bound on cached audiences of endpoints. */
const maxEndpoints = 10_000;

/** The address that counts the gateway's own questions. */
const itself = 'the gateway itself';

const nothing: Verdict = { fault: fault('auth.required') };
const unknown: Verdict = {
  fault: fault('auth.invalid', 'this is neither an API key nor a token of an issuer that is known here'),
};

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #keys: ApiKeys | undefined;
  readonly #issuers: ReadonlyMap<string, Issuer>;
  readonly #proxy: TrustedProxy | undefined;
  readonly #own: OwnTokens | undefined;
  readonly #certificates: ClientCertificates | undefined;
  readonly #cluster: TokenReview | undefined;
  readonly #tokens = new KnownTokens();
  readonly #noMetadata: (problem: string) => void;
  /** Facts from tokens that another service checked: such a token can be revoked before it expires. */
  readonly #asked = new WeakSet<Facts>();
  readonly #possession: Possession | undefined;
  /** The keys to which tokens are bound, by the facts that they prove. */
  readonly #bindings = new WeakMap<Facts, Binding>();
  /** When tokens of agents were last accepted, in milliseconds since 1970, by name. Only our own server names agents, and it has a bound on them. */
  readonly #agentUses = new Map<string, number>();
  /** Facts without the groups of directories, by those with them, and the other way round. */
  readonly #plain = new WeakMap<Facts, Facts>();
  readonly #grouped = new WeakMap<Facts, Facts>();
  /** Counts of requests by way and outcome. */
  readonly tally = new Tally();
  readonly #listeners: Set<() => void>;
  /** Accepted audiences of requested endpoints: with tenants, unknown callers do not learn which endpoints exist. */
  readonly #audiences = new Map<EndpointName, ReadonlySet<string>>();

  /** @throws {Error} in words for the operator when a way cannot be used. */
  static async open(options: AuthenticatorOptions): Promise<Authenticator> {
    const { keysFile, toolProblem, warn } = options;
    const listeners = new Set<() => void>();
    const keys =
      keysFile === undefined
        ? undefined
        : await ApiKeys.open(
            keysFile,
            {
              changed: () => {
                for (const listener of listeners) listener();
              },
              rejected: (problem) => warn({ problem }, 'the changed API keys are not taken'),
            },
            toolProblem,
          );
    return new Authenticator(options, keys, listeners);
  }

  private constructor(options: AuthenticatorOptions, keys: ApiKeys | undefined, listeners: Set<() => void>) {
    const { issuers, proxy, certificates, kubernetes, own, warn } = options;
    this.#options = options;
    this.#keys = keys;
    this.#listeners = listeners;
    options.directories?.onChanged(() => {
      for (const listener of listeners) listener();
    });
    this.#possession = options.possession === undefined ? undefined : new Possession(options.possession);
    this.#own =
      own === undefined
        ? undefined
        : new OwnTokens(
            own,
            (isKeyGone) => {
              if (isKeyGone) this.#tokens.forgetKnown();
              for (const listener of listeners) listener();
            },
            (problem) => warn({ issuer: own.issuer, problem }, 'the keys of an issuer cannot be had'),
          );
    this.#issuers = new Map(
      [
        ...(this.#own === undefined ? [] : [this.#own.issuer]),
        ...issuers.map(
          (each) =>
            new Issuer(each, {
              noKeys: (problem) => warn({ issuer: each.issuer, problem }, 'the keys of an issuer cannot be had'),
              noAnswer: (problem) => warn({ issuer: each.issuer, problem }, 'an issuer cannot be asked about tokens'),
            }),
        ),
      ].map((each) => [each.options.issuer, each]),
    );
    this.#noMetadata = seldom((problem) =>
      warn({ problem }, 'the metadata of an issuer cannot be had, which clients of 2025-03-26 look for at the root'),
    );
    this.#proxy = proxy === undefined ? undefined : new TrustedProxy(proxy);
    this.#cluster =
      kubernetes === undefined
        ? undefined
        : new TokenReview(kubernetes, (problem) =>
            warn({ problem }, 'the API server of the cluster cannot be asked about tokens'),
          );
    this.#certificates = certificates === undefined ? undefined : new ClientCertificates(certificates);
  }

  /** Authenticates a request. The result is a promise only for a token that was not checked before; it never rejects. */
  authenticate(request: Request, place: Place): Verdict | Promise<Verdict> {
    const verdict = this.#proven(request, place);
    if (this.#options.directories === undefined) return verdict;
    return verdict instanceof Promise ? verdict.then((found) => this.#withGroups(found)) : this.#withGroups(verdict);
  }

  #proven(request: Request, { url, endpoint, isAdminPort, peer, secure, address }: Place): Verdict | Promise<Verdict> {
    const problem = queryProblem(url);
    if (problem !== undefined) return this.tally.count('none', { fault: problem });
    const vouched = this.#proxy?.verify(request, peer);
    if (vouched !== undefined) return this.tally.count('proxy', vouched);
    const credential = credentialOf(request);
    // A certificate may belong to a whole workload, so a credential in the request wins over it.
    if (credential === undefined) {
      const shown = secure === undefined ? undefined : this.#certificates?.verify(secure);
      return shown === undefined ? this.tally.count('none', nothing) : this.tally.count('certificate', shown);
    }
    if (typeof credential !== 'string') return this.tally.count('none', credential);
    if (isKey(credential) && !saysBound(request))
      return this.tally.count(
        'key',
        this.#keys?.verify(credential, isAdminPort === true ? undefined : endpoint) ?? unknown,
      );
    const verdict =
      this.#issuers.size === 0 && this.#cluster === undefined ? unknown : this.#token(credential, endpoint, address);
    const sent: Sent = { url, secure, isAdminPort };
    const possessed =
      verdict instanceof Promise
        ? verdict.then((found) => this.#possessed(found, credential, request, sent))
        : this.#possessed(verdict, credential, request, sent);
    return possessed instanceof Promise
      ? possessed.then((found) => this.#noted(found, credential, isAdminPort))
      : this.#noted(possessed, credential, isAdminPort);
  }

  /** Refuses a bound token whose sender does not prove that it has the key. */
  #possessed(
    verdict: Verdict,
    token: string,
    request: Request,
    { url, secure, isAdminPort }: Sent,
  ): Verdict | Promise<Verdict> {
    if ('fault' in verdict) return verdict;
    const binding = this.#bindings.get(verdict);
    const isSaid = saysBound(request);
    // No token that is bound to a key is good for the admin port, so others are.
    const needsBinding = this.#options.needsBinding === true && isAdminPort !== true;
    if (binding === undefined && !isSaid && !needsBinding) return verdict;
    const problem = schemeProblem(binding, isSaid);
    if (problem !== undefined) return { fault: problem };
    if (this.#possession === undefined || isAdminPort === true)
      return {
        fault: fault(
          'auth.invalid',
          'the token is not accepted: it is bound to a key, which is not checked at this port',
        ),
      };
    return this.#possession
      .problemOf(binding as Binding, this.#tokens.digestOf(token), request, {
        principal: verdict.principal,
        method: request.method,
        url,
        secure,
      })
      .then((found) => (found === undefined ? verdict : { fault: found }));
  }

  #noted(verdict: Verdict, token: string, isAdminPort: true | undefined): Verdict {
    if (!('fault' in verdict) && verdict.agent !== undefined) this.#agentUses.set(verdict.agent, Date.now());
    return this.tally.count(
      'token',
      isAdminPort === true || 'fault' in verdict ? verdict : this.#holding(verdict, token),
    );
  }

  /** Stores a token that the gateway may need again. @returns the facts that its request goes on with. */
  #holding(facts: Facts, token: string): Facts {
    const { held } = this.#options;
    if (held === undefined) return facts;
    const named = held(facts, token);
    if (this.#asked.has(facts)) this.#asked.add(named);
    return named;
  }

  /**
   * The present facts of a credential; checked for open streams after a revocation or change.
   * @returns undefined where it holds no longer.
   */
  current(facts: Facts): Facts | undefined {
    if (facts.key !== undefined) return this.#keys?.current(facts);
    if (this.#own?.holds(facts) === false) return undefined;
    return this.#options.directories === undefined ? facts : this.#grouping(this.#plain.get(facts) ?? facts);
  }

  #withGroups(verdict: Verdict): Verdict {
    return 'fault' in verdict || verdict.key !== undefined ? verdict : this.#grouping(verdict);
  }

  /** Facts with the groups that directories give their caller now; the same object while these stay the same. */
  #grouping(plain: Facts): Facts {
    const more = this.#options.directories?.of(plain) ?? [];
    if (more.length === 0) return plain;
    const groups = [...new Set([...plain.groups, ...more])];
    const known = this.#grouped.get(plain);
    if (known !== undefined && isDeepStrictEqual(known.groups, groups)) return known;
    const made = { ...plain, groups };
    this.#grouped.set(plain, made);
    this.#plain.set(made, plain);
    if (this.#asked.has(plain)) this.#asked.add(made);
    return made;
  }

  /** When API keys were last accepted, in milliseconds since 1970, by their ids, and tokens of agents, by `agent:NAME`; since the start of this process. */
  keyUses(): ReadonlyMap<string, number> {
    const agents = [...this.#agentUses].map(([name, at]) => [`agent:${name}`, at] as const);
    return new Map([...(this.#keys?.uses() ?? []), ...agents]);
  }

  /** Whether facts are from a token of a service that reports no revocations, so that it must be asked. */
  mustAsk(facts: Facts): boolean {
    return this.#asked.has(facts);
  }

  /**
   * The present facts of an accepted request's token at its endpoint. It asks the issuer if the last answer is more than a minute old; while that does not
   * answer, the last facts count. Never rejects.
   * @param facts that the token proved last, for which `mustAsk` is true.
   * @returns undefined where the token is not valid any more.
   */
  async ask(facts: Facts, request: Request, endpoint: EndpointName): Promise<Facts | undefined> {
    const credential = credentialOf(request);
    if (typeof credential !== 'string') return facts;
    const verdict = await this.#token(credential, endpoint, () => itself);
    if ('fault' in verdict) return verdict.fault.reason === 'auth.unavailable' ? facts : undefined;
    if (verdict.principal !== facts.principal) return undefined;
    return this.#grouping(this.#holding(verdict, credential));
  }

  /** Calls back when something may have been revoked. */
  onRevoked(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The metadata of the first issuer, as the issuer gives them. @throws {Error} in words for strangers when it does not; the log has the reason. */
  async serverMetadata(): Promise<JsonObject | undefined> {
    const [first] = this.#issuers.values();
    try {
      return await first?.metadata();
    } catch (error) {
      this.#noMetadata((error as Error).message);
      throw new Error(`the metadata of ${String(first?.options.issuer)} cannot be had now`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#keys?.close();
  }

  #token(token: string, endpoint: EndpointName, address: () => string): Verdict | Promise<Verdict> {
    const digest = this.#tokens.digestOf(token);
    const known = this.#tokens.find(digest);
    if (known !== undefined) return 'fault' in known ? known : this.#judge(known, endpoint);
    const name = issuerOf(token);
    const isSigned = name !== undefined;
    const cluster = this.#cluster;
    if (cluster !== undefined && name === cluster.issuer)
      return this.#looked(
        this.#tokens.look(digest, address(), true, () => this.#ask(cluster.verify(token))),
        endpoint,
      );
    const issuer =
      name !== undefined
        ? this.#issuers.get(name)
        : [...this.#issuers.values()].find(({ options }) => options.introspection !== undefined);
    if (issuer === undefined)
      return isSigned
        ? {
            fault: fault(
              'auth.invalid',
              `the token is not accepted: its issuer ${name === '' ? 'is not said' : `is ${printable(name).slice(0, 200)}, ${this.#notIssuer(name)}`}`,
            ),
          }
        : unknown;
    return this.#looked(
      this.#tokens.look(digest, address(), !isSigned, () =>
        isSigned ? issuer.verify(token) : this.#ask(issuer.introspect(token)),
      ),
      endpoint,
    );
  }

  /** Says why an issuer is not configured. It names no configured issuer, which may be that of a customer, except one that is spelt almost the same. */
  #notIssuer(name: string): string {
    const meant = [...this.#issuers.keys(), ...(this.#cluster === undefined ? [] : [this.#cluster.issuer])].find(
      (issuer) => spelling(issuer) === spelling(name),
    );
    return meant === undefined ? 'whose tokens are not accepted here' : `and not ${meant}`;
  }

  /** Notes that another service was asked. */
  async #ask(asking: Promise<Outcome>): Promise<Outcome> {
    const outcome = await asking;
    if (!('fault' in outcome)) this.#asked.add(outcome.facts);
    return outcome;
  }

  async #looked(looking: ReturnType<KnownTokens['look']>, endpoint: EndpointName): Promise<Verdict> {
    const looked = await looking;
    return 'fault' in looked ? looked : this.#judge(looked, endpoint);
  }

  /** Decides on the rights of a valid token here and now. */
  #judge({ facts, audiences, binding }: Proof, endpoint: EndpointName): Verdict {
    if (binding !== undefined) this.#bindings.set(facts, binding);
    const expected = this.#audiencesOf(endpoint);
    if (!audiences.some((audience) => expected.has(audience)))
      return {
        fault: fault(
          'auth.invalid',
          `the token is not accepted: it is for ${printable(audiences.join(', ')) || 'nobody'}, and not for ${[...expected][0] as string}`,
        ),
      };
    if (facts.expiresAt !== undefined && facts.expiresAt <= Date.now())
      return { fault: fault('auth.invalid', 'the token is not accepted: it has expired') };
    if (this.#own?.holds(facts) === false)
      return {
        fault: fault(
          'auth.invalid',
          'the token is not accepted: its user is not there any more, or has taken back what it was given for',
        ),
      };
    const { scopes = [] } = this.#options.resource ?? {};
    if (facts.isUnscoped === true || scopes.every((scope) => facts.scopes.includes(scope))) return facts;
    return {
      fault: fault(
        'auth.scope',
        `the token lacks the scope ${scopes.filter((scope) => !facts.scopes.includes(scope)).join(' ')}`,
        { requiredScopes: scopes },
      ),
    };
  }

  /** Accepted audiences; the preferred one comes first. */
  #audiencesOf(endpoint: EndpointName): ReadonlySet<string> {
    let audiences = this.#audiences.get(endpoint);
    if (audiences === undefined) {
      const { publicUrl, audience = [] } = this.#options.resource ?? {};
      const name = endpoint === '' ? '' : `/${endpoint}`;
      const everywhere = audience.length === 0 && publicUrl !== undefined ? [`${publicUrl}${fronts[0]}`] : audience;
      audiences = new Set(
        [...everywhere, ...(publicUrl === undefined ? [] : fronts.map((front) => `${publicUrl}${front}${name}`))].map(
          canonical,
        ),
      );
      if (this.#audiences.size >= maxEndpoints) this.#audiences.clear();
      this.#audiences.set(endpoint, audiences);
    }
    return audiences;
  }
}

/** Where a request was sent to, and over which connection. */
interface Sent extends Pick<Place, 'url' | 'secure'> {
  readonly isAdminPort: true | undefined;
}

/** The reason why the scheme of a request does not fit its token: a token that is bound to a key is no bearer token (RFC 9449, 7.2). */
function schemeProblem(binding: Binding | undefined, isSaid: boolean): GatewayFault | undefined {
  if (binding === undefined)
    return fault(
      'auth.proof',
      isSaid
        ? 'the token is not bound to a key: send it as "Authorization: Bearer"'
        : 'tokens must be bound to a key here (auth.dpop): ask the issuer for one with a proof (RFC 9449)',
    );
  return (binding.jkt !== undefined) === isSaid
    ? undefined
    : fault(
        'auth.proof',
        isSaid
          ? 'the token is bound to a certificate alone: send it as "Authorization: Bearer"'
          : 'the token is bound to a key: send it as "Authorization: DPoP", with a proof in the header DPoP (RFC 9449)',
      );
}

/** The issuer that a JWT names, which only decides the keys to try; empty where it names none, and undefined for another token, which may have dots too. */
function issuerOf(token: string): string | undefined {
  if (token.split('.').length !== 3) return undefined;
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : '';
  } catch {
    return undefined;
  }
}

/** The same for issuers that differ only in capital letters and a slash at their end. */
const spelling = (issuer: string): string => issuer.toLowerCase().replace(/\/$/u, '');
