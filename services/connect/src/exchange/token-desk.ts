/**
 * Gives backend workers tokens for servers in the names of callers: made from the caller's token at this edge, or from the ID token of the caller's
 * sign-in, at issuers that the configuration names. Requests for one caller and server run one at a time; their tokens are cached while they and the caller's own are valid.
 */
import {
  byIdentityAssertion,
  byTokenExchange,
  clientOf,
  CredentialProblem,
  sealToken,
  WorkloadTokens,
  type Challenge,
  type Grant,
} from '@omnibus/credentials';
import { enabledServers, isForTenant, type Config, type ServerConfig } from '@omnibus/config';
import type { Agents, issuersOf, outbound } from '@omnibus/backend/issuers';
import { tokenDigest, type CallerTokenAsk, type CallerTokenReply, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { HeldToken, HeldTokens } from './held-tokens.ts';

type Credentials = NonNullable<ServerConfig['credentials']>;
type OfCallers = Extract<Credentials, { kind: 'exchange' | 'enterprise' }>;

export interface TokenDeskOptions {
  /** As it is now. */
  readonly config: () => Config;
  readonly held: HeldTokens;
  /** The ID token of a user's sign-in at the gateway. @throws {Error} in words, when there is none that is good. */
  readonly idTokenOf: (subject: string) => Promise<string>;
  /** The issuer of the gateway's own tokens; undefined where it has none. */
  readonly ownIssuer: string | undefined;
  readonly reaching: {
    readonly agents: Agents;
    readonly issuersOf: typeof issuersOf;
    readonly outbound: typeof outbound;
  };
  readonly metrics: Metrics;
  readonly log: Logger;
}

export class TokenDesk {
  readonly #options: TokenDeskOptions;
  /** The problem that was logged last, by server. */
  readonly #said = new Map<string, string>();

  constructor(options: TokenDeskOptions) {
    this.#options = options;
  }

  /** Never rejects, but for bugs. */
  async hear({
    server,
    principal,
    key,
    refused,
    resourceMetadata,
    scope,
    isProofWanted,
  }: CallerTokenAsk): Promise<CallerTokenReply> {
    const held = this.#options.held.of(principal);
    if (held === undefined)
      return {
        kind: 'failed',
        isPassing: true,
        problem:
          'the token by which the caller was known has expired, or was revoked: the next request with another one is enough',
      };
    try {
      const challenge: Challenge = {
        resourceMetadata,
        scope,
        error: undefined,
        ...(isProofWanted === undefined ? {} : { isProofWanted }),
      };
      const source = this.#sourceFor(server, held, challenge);
      let { authorization = '' } = await source.ask();
      if (refused === tokenDigest(authorization)) {
        await source.refused({ authorization }, challenge);
        ({ authorization = '' } = await source.ask());
      }
      const until = Math.min(source.until, held.facts.expiresAt ?? Infinity);
      const { proofKey } = source;
      return {
        kind: 'token',
        sealed: await sealToken(key, {
          server,
          principal,
          authorization,
          until,
          ...(proofKey !== undefined && authorization.startsWith('DPoP ') ? { proofKey } : {}),
        }),
      };
    } catch (error) {
      if (!(error instanceof CredentialProblem)) throw error;
      return { kind: 'failed', problem: error.message, isPassing: error.isPassing };
    }
  }

  /** @throws {CredentialProblem} when the configuration does not have this server called in this caller's name. */
  #sourceFor(server: ServerName, held: HeldToken, challenge: Challenge): WorkloadTokens {
    const known = held.made.get(server);
    if (known !== undefined) return known;
    const {
      config,
      reaching: { agents, issuersOf: rule, outbound: fetchOver },
      metrics,
      log,
    } = this.#options;
    const settings = enabledServers(config()).get(server);
    const credentials = settings?.credentials;
    if (
      settings?.url === undefined ||
      (credentials?.kind !== 'exchange' && credentials?.kind !== 'enterprise') ||
      !isForTenant(settings.tenants, held.facts.tenant)
    ) {
      throw new CredentialProblem(
        'the edge knows of no such server that is called with tokens made from those of its callers',
        { isPassing: true },
      );
    }
    const url = settings.url.replace(/^ws/, 'http');
    const { issuer, scopes, resource, allowedHosts } = credentials;
    const provider = credentials.kind === 'enterprise' ? this.#providerOf(credentials).issuer : undefined;
    const made = new WorkloadTokens({
      url,
      issuer,
      challenge,
      namesResource: resource,
      scope: scopes?.join(' '),
      client: clientOf(credentials),
      fetch: fetchOver(agents.of(rule([url, issuer, provider], allowedHosts), undefined, settings.proxy)),
      grant: this.#grantOf(credentials, held),
      asked: (outcome, problem) => {
        metrics.upstream.credentialsAsked(server, outcome);
        if (problem !== undefined && problem !== this.#said.get(server))
          log.warn({ server, problem }, 'no token can be had for a server in the name of a caller');
        if (problem === undefined) this.#said.delete(server);
        else this.#said.set(server, problem);
      },
    });
    held.made.set(server, made);
    return made;
  }

  #grantOf(credentials: OfCallers, { facts, token }: HeldToken): Grant {
    const client = clientOf(credentials);
    const { ownIssuer, idTokenOf } = this.#options;
    if (credentials.kind === 'exchange') {
      const { issuer, from = [issuer], audience } = credentials;
      // The edge sends a token only to issuers that the operator has named for it.
      if (!from.includes(facts.issuer))
        throw new CredentialProblem(
          `the caller's token is of ${facts.issuer}, and only tokens of ${from.join(' and ')} are exchanged for this server`,
        );
      return byTokenExchange({ client, audience, subject: () => Promise.resolve(token) });
    }
    if (ownIssuer === undefined || facts.issuer !== ownIssuer)
      throw new CredentialProblem(
        `the server is called by the sign-in of its user at the gateway, and the token of this caller is of ${facts.issuer}`,
      );
    return byIdentityAssertion({
      provider: this.#providerOf(credentials),
      client,
      idToken: () => idTokenOf(facts.subject),
    });
  }

  #providerOf({
    identityProvider,
  }: Extract<OfCallers, { kind: 'enterprise' }>): Parameters<typeof byIdentityAssertion>[0]['provider'] {
    const { auth } = this.#options.config();
    const signIn = auth === undefined || auth === 'none' ? undefined : auth.server?.signIn;
    const issuer = identityProvider?.issuer ?? signIn?.issuer;
    const clientId = identityProvider?.clientId ?? signIn?.clientId;
    if (issuer === undefined || clientId === undefined)
      throw new CredentialProblem('the configuration does not say at which identity provider its users sign in');
    // The secret of the sign-in is for that provider alone.
    const isOfSignIn = issuer === signIn?.issuer && clientId === signIn.clientId;
    const clientSecret = identityProvider?.clientSecret ?? (isOfSignIn ? signIn.clientSecret : undefined);
    return { issuer, client: clientOf({ ...identityProvider, clientId, clientSecret }) };
  }
}
