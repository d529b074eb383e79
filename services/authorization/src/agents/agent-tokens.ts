/** The tokens of agents: who gets one, for which address, with which scopes and claims, and for how long. The library asks these questions. */
import { basePathOf, type JsonObject } from '@omnibus/protocol';
import { recordClaim } from '@omnibus/identity';
import type Provider from 'oidc-provider';
import type { errors as providerErrors } from 'oidc-provider';
import { endpointOf } from '../audience.ts';
import { agentSubjectMark, clientOf, grantNameOf, type Agents } from './agents.ts';
import type { AgentRecord } from './agent-file.ts';

interface AgentTokensOptions {
  readonly publicUrl: string;
  readonly agentsFile?: string | undefined;
  /** Scopes that every token has. */
  readonly scopes: readonly string[];
  readonly accessTokenMs: number;
  readonly errors: typeof providerErrors;
  /** Undefined until the server is open, and without agents. */
  readonly agents: () => Agents | undefined;
  /** Whether an operator has blocked an agent. */
  readonly isBlocked?: ((name: string) => boolean) | undefined;
}

/** How far ahead an assertion may expire, in seconds. Its id is remembered that long, in a bucket with a bound. */
const maxAssertionSeconds = 600;
const toleranceSeconds = 30;

export class AgentTokens {
  readonly #options: AgentTokensOptions;

  constructor(options: AgentTokensOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.agentsFile !== undefined;
  }

  /** An agent as a client of the library; undefined for the id of another client, and for an agent that is blocked or has expired. */
  clientOf(id: string): JsonObject | undefined {
    const agent = this.#find(id);
    return agent === undefined || this.#options.isBlocked?.(agent.name) === true ? undefined : clientOf(agent);
  }

  /** @throws {Error} of the library when a client has sent too many assertions. */
  remembers(client: unknown): void {
    if (typeof client !== 'string') return;
    const wait = this.#options.agents()?.waitOf(client) ?? 0;
    if (wait > 0) throw new this.#options.errors.InvalidRequest(`too many requests; try again in ${wait} seconds`);
  }

  /** Secrets of agents are kept as digests, and an agent has several of them while it changes to a new one. */
  equip(provider: Provider): void {
    interface Client {
      readonly clientId: string;
    }
    const prototype = provider.Client.prototype as unknown as {
      compareClientSecret: (this: Client, actual: string) => boolean | Promise<boolean>;
    };
    const compare = prototype.compareClientSecret;
    const { agents } = this.#options;
    prototype.compareClientSecret = function compareSecret(actual) {
      return agents()?.accepts(this.clientId, actual) ?? compare.call(this, actual);
    };
  }

  /** @throws {Error} of the library for an assertion that lasts too long. */
  checkAssertion({ exp }: Readonly<Record<string, unknown>>): void {
    if (typeof exp === 'number' && exp - Date.now() / 1_000 > maxAssertionSeconds + toleranceSeconds)
      throw new this.#options.errors.InvalidClientAuth(
        `the assertion expires too late: at most ${maxAssertionSeconds} seconds from now (exp)`,
      );
  }

  /** The address for which an agent gets a token if it names none; undefined for other clients, and for the address of all servers. */
  resourceOf(id: string | undefined): string | undefined {
    const [endpoint] = this.#find(id)?.endpoints ?? [];
    return endpoint === undefined ? undefined : this.#addressOf(endpoint);
  }

  /** @throws {Error} of the library if an agent may not use an address. */
  checkResource(id: string, audience: string): void {
    const { endpoints } = this.#find(id) ?? {};
    if (endpoints === undefined) return;
    if (!endpoints.includes(endpointOf(audience, basePathOf(this.#options.publicUrl))))
      throw new this.#options.errors.InvalidTarget(
        `this agent may use ${endpoints.map((each) => this.#addressOf(each)).join(', ')}`,
      );
  }

  /** The further scopes that tokens of an agent may have; undefined for other clients. */
  scopesOf(id: string): readonly string[] | undefined {
    return this.#find(id)?.scopes;
  }

  /** How long a token of an agent is valid: no longer than the agent. @param until the end of the user's token, in seconds since 1970, if it acts for one. */
  secondsOf(id: string | undefined, until = Infinity): number {
    const { expires } = this.#find(id) ?? {};
    const ends = Math.min(expires === undefined ? Infinity : Date.parse(expires), until * 1_000);
    return Math.max(1, Math.floor(Math.min(this.#options.accessTokenMs, ends - Date.now()) / 1_000));
  }

  claimsOf(id: string | undefined): JsonObject {
    const agent = this.#find(id);
    if (agent === undefined) throw new this.#options.errors.InvalidClient('the agent is not there any more');
    const { groups, tenant, id: record } = agent;
    return {
      ...(groups.length === 0 ? {} : { groups }),
      ...(tenant === undefined ? {} : { tenant }),
      [recordClaim]: record,
      grant_id: grantNameOf(agent),
    };
  }

  /** An agent has a subject of its own, which no user has. @param user the subject for whom it acts. */
  customize(
    { kind, clientId }: { readonly kind: string; readonly clientId?: string | undefined },
    parts: { payload?: unknown },
    user?: string,
  ): void {
    const agent = kind === 'ClientCredentials' ? this.#find(clientId) : undefined;
    if (agent !== undefined)
      Object.assign(parts.payload as object, { sub: user ?? `${agentSubjectMark}${agent.name}` });
  }

  #find(id: string | undefined): AgentRecord | undefined {
    return id === undefined ? undefined : this.#options.agents()?.find(id);
  }

  #addressOf(endpoint: string): string {
    return `${this.#options.publicUrl}/mcp${endpoint === '' ? '' : `/${endpoint}`}`;
  }
}
