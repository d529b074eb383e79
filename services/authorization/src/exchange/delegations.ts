/**
 * Token exchange (RFC 8693): an agent gets a token with which it acts for a user. To the library, the request is one of the agent for itself (client
 * credentials), so that the agent, the proof of its key and the address are checked in the same way. This file adds the user, the chain of agents, and the bounds of both.
 */
import type { IncomingMessage } from 'node:http';
import type { Facts, Subject } from '@omnibus/identity';
import { TokenBuckets } from '@omnibus/lifecycle';
import { basePathOf, type JsonObject } from '@omnibus/protocol';
import { issuerClaim, maxActors, recordClaim, toldClaim } from '@omnibus/identity';
import type { errors as providerErrors, KoaContextWithOIDC } from 'oidc-provider';
import type { AgentRecord } from '../agents/agent-file.ts';
import { agentClientMark, agentSubjectMark, grantNameOf, type Agents } from '../agents/agents.ts';
import { audienceOf, endpointOf } from '../audience.ts';
import { SubjectTokens, type SubjectToken } from './subject-tokens.ts';

/** A rule about the agents that may act for users. */
export interface ActingRule {
  /** Name of the agent. */
  readonly agent: string;
  readonly isFor: (user: Facts) => boolean;
  /** Whether the agent may act behind other agents, with the token of one that acts for the user. */
  readonly chained: boolean;
}

export interface DelegationsOptions {
  readonly publicUrl: string;
  /** Scopes that every token has. */
  readonly scopes: readonly string[];
  /** Further scopes, without those that administer the gateway: no agent gets these for a user. */
  readonly moreScopes: readonly string[];
  /** Audiences that are accepted at each endpoint; if empty, the address of all servers is. */
  readonly audience: readonly string[];
  readonly rules: readonly ActingRule[];
  readonly errors: typeof providerErrors;
  readonly agents: () => Agents | undefined;
  readonly tokens: SubjectTokens;
  /** Why a user is refused altogether, in words; undefined if the user is not. */
  readonly refusal: (user: Facts) => string | undefined;
  /** Called with each outcome. */
  readonly record: (outcome: Acting) => void;
}

export interface Acting {
  /** The agent that asked. */
  readonly agent: string;
  /** Undefined if the token of the user was not accepted. */
  readonly user?: Facts | undefined;
  readonly address: string;
  /** Why there is no token; undefined if there is one. */
  readonly problem?: string | undefined;
}

/** What the token of an agent for a user has. */
interface Delegation {
  readonly subject: string;
  readonly claims: JsonObject;
  readonly scopes: readonly string[];
  readonly token: SubjectToken;
}

interface Asked {
  readonly form: URLSearchParams;
  readonly address: string;
  /** Whether the agent has proven itself by the `actor_token`. */
  readonly isOfWorkload: boolean;
  verifying?: Promise<Delegation>;
  /** The user, if the token of the user is accepted. */
  user?: Facts;
  /** Set when it is verified. */
  found?: Delegation;
}

export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const kinds = 'urn:ietf:params:oauth:token-type:';
export const accessTokenKind = `${kinds}access_token`;
const jwtKind = `${kinds}jwt`;
/** Tokens that an agent may ask for at once, and then ten a second: it may act for many users. */
const asks = { burst: 300, everyMs: 100, maxNames: 20_000 };
const fronts = ['mcp', 'sse', 'ws'] as const;

export class Delegations {
  readonly #options: DelegationsOptions;
  readonly #asked = new WeakMap<IncomingMessage, Asked>();
  readonly #pace = new TokenBuckets(asks);

  constructor(options: DelegationsOptions) {
    this.#options = options;
  }

  /** The form that an agent without a user would send. @param form of the exchange. @returns the problem in words, if the form is none. */
  static plainForm(form: URLSearchParams): URLSearchParams | string {
    const problem = formProblem(form);
    if (problem !== undefined) return problem;
    const plain = new URLSearchParams(form);
    for (const name of [...form.keys()])
      if (/^(?:subject_token|actor_token|requested_token)/.test(name) || name === 'audience') plain.delete(name);
    // Here each service is known by its address.
    for (const audience of form.getAll('audience')) plain.append('resource', audience);
    return plain;
  }

  /** Whether the agent of an exchange proves itself by the token of a workload alone. */
  static isOfWorkload(form: URLSearchParams, authorization: string | undefined): boolean {
    const authenticates = authorization !== undefined || form.has('client_secret') || form.has('client_assertion');
    return form.has('actor_token') && !authenticates;
  }

  /** Notes a request as an exchange, before the library serves it. */
  begin(request: IncomingMessage, asked: Pick<Asked, 'form' | 'address' | 'isOfWorkload'>): void {
    this.#asked.set(request, { ...asked });
  }

  has({ req }: Pick<KoaContextWithOIDC, 'req'>): boolean {
    return this.#asked.has(req as IncomingMessage);
  }

  /** The verified exchange of a request; undefined for any other request. */
  found({ req }: KoaContextWithOIDC): Delegation | undefined {
    return this.#asked.get(req as IncomingMessage)?.found;
  }

  /** Verifies the exchange of a request, after the library has authenticated the agent. @throws {Error} of the library. */
  async verify(ctx: KoaContextWithOIDC): Promise<Delegation | undefined> {
    const asked = this.#asked.get(ctx.req as IncomingMessage);
    if (asked === undefined) return undefined;
    asked.verifying ??= this.#verify(asked, agentOf(ctx));
    asked.found = await asked.verifying;
    return asked.found;
  }

  /** Records the outcome of an exchange that was verified. @param problem in words, if there is no token. */
  ended(ctx: KoaContextWithOIDC, problem?: string): void {
    const asked = this.#asked.get(ctx.req as IncomingMessage);
    if (asked?.verifying === undefined) return;
    const { user, address } = asked;
    this.#options.record({ agent: agentOf(ctx), user, address, problem });
  }

  /** @throws {Error} of the library if the user's token is not good for an address. */
  checkResource({ token }: Delegation, audience: string): void {
    const { publicUrl, errors } = this.#options;
    const everywhere = this.#everywhere;
    const name = endpointOf(audience, basePathOf(publicUrl));
    const ofEndpoint = fronts.map((front) => `${publicUrl}/${front}${name === '' ? '' : `/${name}`}`);
    const accepted = everywhere.includes(audience) ? everywhere : [...everywhere, ...ofEndpoint];
    if (!SubjectTokens.isFor(token, accepted))
      throw new errors.InvalidTarget("the user's token is not for this address");
  }

  /** The address of a token whose request names none. */
  resourceOf({ token }: Delegation): string | undefined {
    const { publicUrl } = this.#options;
    return token.audiences.find((audience) => audience.startsWith(`${publicUrl}/`));
  }

  get #everywhere(): readonly string[] {
    const { audience, publicUrl } = this.#options;
    return audience.length === 0 ? [audienceOf(publicUrl, basePathOf(publicUrl))] : audience;
  }

  async #verify(asked: Asked, agent: string): Promise<Delegation> {
    const wait = this.#pace.take(agent);
    if (wait > 0) throw this.#invalid(`too many requests; try again in ${wait} seconds`);
    const token = await this.#subjectOf(asked.form, asked.isOfWorkload ? undefined : agent);
    asked.user = token.facts;
    return this.#delegated(token, agent);
  }

  /** @param agent that the `actor_token` must be of, if there is one; undefined if the token is an assertion that was checked before. */
  async #subjectOf(form: URLSearchParams, agent: string | undefined): Promise<SubjectToken> {
    const { tokens } = this.#options;
    const actor = form.get('actor_token');
    if (actor !== null && agent !== undefined) {
      const acting = await tokens.verify(actor);
      if (typeof acting === 'string') throw this.#invalid(`the actor_token ${acting}`);
      if (acting.facts.agent !== agent || acting.facts.actors.length > 0)
        throw this.#invalid('the actor_token is not of the agent that asks');
    }
    const token = await tokens.verify(form.get('subject_token') ?? '');
    if (typeof token === 'string') throw this.#invalid(`the subject_token ${token}`);
    return token;
  }

  /** @throws {Error} of the library if the agent may not act for the user. */
  #delegated(token: SubjectToken, name: string): Delegation {
    const { facts, record } = token;
    const { publicUrl, scopes, moreScopes, agents, refusal } = this.#options;
    const agent = agents()?.find(`${agentClientMark}${name}`);
    const problem =
      agent === undefined ? 'the agent is not there any more' : (refusal(facts) ?? this.#problemOf(token, agent));
    if (agent === undefined || problem !== undefined) throw this.#invalid(problem ?? '');
    const has = (scope: string): boolean => facts.scopes.includes(scope);
    const lacking = scopes.filter((scope) => !has(scope));
    if (lacking.length > 0) throw this.#invalid(`the subject_token lacks the scope ${lacking.join(' ')}`);
    const { issuer, subject, tenant, groups, grant, claims, actors } = facts;
    return {
      subject,
      token,
      scopes: [...scopes, ...moreScopes.filter((scope) => agent.scopes.includes(scope) && has(scope))],
      claims: {
        act: {
          sub: `${agentSubjectMark}${name}`,
          grant_id: grantNameOf(agent),
          ...(actors.length === 0 ? {} : { act: actOf(actors, publicUrl) }),
        },
        ...(groups.length === 0 ? {} : { groups: [...groups] }),
        ...(tenant === undefined ? {} : { tenant }),
        ...(record === undefined ? {} : { [recordClaim]: record }),
        ...(grant === undefined ? {} : { grant_id: grant }),
        ...(issuer === publicUrl ? {} : { [issuerClaim]: issuer }),
        ...(Object.keys(claims ?? {}).length === 0 ? {} : { [toldClaim]: { ...claims } }),
      },
    };
  }

  /** Why an agent may not act for a user. */
  #problemOf({ facts, mayAct }: SubjectToken, { name, tenant }: AgentRecord): string | undefined {
    const { agent, actors } = facts;
    if (tenant !== undefined && tenant !== facts.tenant) return 'the user is of another tenant than the agent';
    if (actors.length === 0 && agent !== undefined) return 'the subject_token is of an agent; expected one of a user';
    if (actors.length >= maxActors) return `more than ${maxActors} agents would act for the user`;
    if (actors.some((actor) => actor.subject === `${agentSubjectMark}${name}`))
      return 'the agent acts for the user in this token already';
    if (mayAct === null || (typeof mayAct === 'string' && mayAct !== name))
      return 'the subject_token permits another party to act for its subject (may_act)';
    const rules = this.#options.rules.filter((rule) => rule.agent === name && rule.isFor(facts));
    const isPermitted = rules.some(({ chained }) => chained || actors.length === 0);
    if (isPermitted || (mayAct === name && actors.length === 0)) return undefined;
    return rules.length > 0
      ? 'the agent may not act behind another agent (chained)'
      : `the agent ${name} may not act for this user (auth.server.actors)`;
  }

  #invalid(problem: string): Error {
    return new this.#options.errors.InvalidRequest(problem);
  }
}

/** The name of the agent that the library has authenticated. */
function agentOf({ oidc }: KoaContextWithOIDC): string {
  return (oidc.client?.clientId ?? '').slice(agentClientMark.length);
}

/** The claim `act` of a chain, the last agent first (RFC 8693, 4.1). */
function actOf(actors: readonly (Subject & { readonly grant?: string | undefined })[], own: string): JsonObject {
  return actors.reduceRight<JsonObject>(
    (act, { issuer, subject, grant }) => ({
      ...(issuer === own ? {} : { iss: issuer }),
      sub: subject,
      ...(grant === undefined ? {} : { grant_id: grant }),
      ...(Object.keys(act).length === 0 ? {} : { act }),
    }),
    {},
  );
}

/** The problem of the form of an exchange (RFC 8693, 2.1), in words. */
function formProblem(form: URLSearchParams): string | undefined {
  const twice = ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type'].find(
    (name) => form.getAll(name).length > 1,
  );
  if (twice !== undefined) return `${twice} is there twice`;
  if (!form.has('subject_token')) return 'expected a subject_token: the token of the user';
  const wrong = [
    ['subject_token_type', form.has('subject_token')],
    ['actor_token_type', form.has('actor_token')],
  ] as const;
  for (const [name, isNeeded] of wrong) {
    const kind = form.get(name);
    if (!isNeeded && kind !== null) return `${name} is there without its token`;
    if (isNeeded && kind !== accessTokenKind && kind !== jwtKind)
      return `expected ${name} ${accessTokenKind} or ${jwtKind}`;
  }
  const requested = form.get('requested_token_type');
  return requested === null || requested === accessTokenKind || requested === jwtKind
    ? undefined
    : `expected no requested_token_type, or ${accessTokenKind}`;
}
