/**
 * Agents of the authorization server: programs that get tokens without a user (client credentials; RFC 6749, 4.4). Their records are in a file that the
 * gateway follows. All that a record permits is part of the name of its grant, so a changed record ends the tokens that were issued before.
 */
import { readFileSync } from 'node:fs';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { followFiles, unwrittenProblem } from '@omnibus/identity';
import type { JsonObject } from '@omnibus/protocol';
import { TokenBuckets } from '@omnibus/lifecycle';
import { Revocations } from '../revocations.ts';
import { digestOfSecret, parseAgents, type AgentRecord } from './agent-file.ts';

/** The beginning of the client ids of agents. */
export const agentClientMark = 'agent-';
/** The beginning of the subjects of agents. No user of a file has a name with a colon, and users of a provider are `ISSUER|SUBJECT`. */
export const agentSubjectMark = 'agent:';
/** Tokens that an agent may get at once, and then one a second: its assertions are remembered until they expire. */
const issued = { burst: 60, everyMs: 1_000, maxNames: 20_000 };

export interface AgentsObserver {
  /** Called with the grants of agents that have ended: removed agents, and those with other rights or secrets. */
  ended(grants: readonly string[]): void;
  /** Called when the records have changed. */
  changed(): void;
  /** Called when the file cannot be used as it is now, or is not followed; the previous agents stay. */
  rejected(problem: string): void;
}

export class Agents {
  readonly #file: string;
  readonly #observer: AgentsObserver;
  #agents: ReadonlyMap<string, AgentRecord>;
  #unfollow: (() => Promise<void>) | undefined;
  /** Client ids of agents by secrets for requests that are running, of workloads only. */
  readonly #tickets = new Map<string, string>();
  readonly #pace = new TokenBuckets(issued);

  /** @throws {Error} in words for the operator when the file cannot be used. */
  static async open(path: string, observer: AgentsObserver): Promise<Agents> {
    const agents = new Agents(path, observer);
    agents.#unfollow = await followFiles([path], {
      changed: () => agents.#reload(),
      unfollowed: (problem) => observer.rejected(problem),
    });
    return agents;
  }

  private constructor(path: string, observer: AgentsObserver) {
    this.#file = path;
    this.#observer = observer;
    this.#agents = this.#read(false);
  }

  /** The agent of a client id or a subject; undefined if there is none, or it has expired. */
  find(id: string): AgentRecord | undefined {
    const name = nameIn(id);
    const agent = name === undefined ? undefined : this.#agents.get(name);
    return agent === undefined || isOver(agent.expires) ? undefined : agent;
  }

  /** Whether an agent still has a grant, by its subject and the name of the grant. Asked with each request of an agent. */
  holds(subject: string, grantName: string): boolean {
    const agent = this.find(subject);
    return agent !== undefined && grantNameOf(agent) === grantName;
  }

  /** A secret for one request of a workload, after its assertion was verified. `endTicket` takes it back. */
  ticketFor(clientId: string): string {
    const ticket = randomBytes(32).toString('base64url');
    this.#tickets.set(ticket, clientId);
    return ticket;
  }

  endTicket(ticket: string): void {
    this.#tickets.delete(ticket);
  }

  /** Compares a secret with all that are valid now. @returns undefined for a client that is no agent. */
  accepts(clientId: string, secret: string): boolean | undefined {
    if (nameIn(clientId) === undefined) return undefined;
    if (this.#tickets.get(secret) === clientId) return this.find(clientId)?.isWorkload === true;
    const given = Buffer.from(digestOfSecret(secret), 'hex');
    return (
      this.find(clientId)?.secrets.some(
        ({ hash, until }) => !isOver(until) && timingSafeEqual(Buffer.from(hash, 'hex'), given),
      ) ?? false
    );
  }

  /** Seconds that a client has to wait for its next token; 0 if it may have one. */
  waitOf(client: string): number {
    return this.#pace.take(client);
  }

  async close(): Promise<void> {
    await this.#unfollow?.();
  }

  #read(isAgain: boolean): ReadonlyMap<string, AgentRecord> {
    try {
      const text = readFileSync(this.#file, 'utf8');
      const problem = isAgain ? unwrittenProblem(text) : undefined;
      if (problem !== undefined) throw new Error(`${problem}. "agents: []" removes all agents`);
      return new Map(parseAgents(text).map((agent) => [agent.name, agent]));
    } catch (error) {
      // The first `omnibus agents add` makes the file.
      if (!isAgain && (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
      throw new Error(`the file of agents ${this.#file}: ${(error as Error).message}`, { cause: error });
    }
  }

  #reload(): void {
    const before = this.#agents;
    try {
      this.#agents = this.#read(true);
    } catch (error) {
      this.#observer.rejected((error as Error).message);
      return;
    }
    const now = new Set([...this.#agents.values()].map(grantOf));
    this.#observer.ended([...before.values()].map(grantOf).filter((grant) => !now.has(grant)));
    this.#observer.changed();
  }
}

/** The name in a client id or a subject of an agent. */
function nameIn(id: string): string | undefined {
  const mark = [agentClientMark, agentSubjectMark].find((each) => id.startsWith(each));
  return mark === undefined ? undefined : id.slice(mark.length);
}

const isOver = (until: string | undefined): boolean => until !== undefined && Date.parse(until) <= Date.now();

/** The grant of an agent, with all that its tokens permit. */
function grantOf({ name, id, tenant, groups, scopes, endpoints, round }: AgentRecord): string {
  return `agent ${JSON.stringify([name, id, tenant ?? null, groups, scopes, endpoints ?? null, round])}`;
}

const grantNames = new WeakMap<AgentRecord, string>();

/** The name of an agent's grant in its tokens. */
export function grantNameOf(agent: AgentRecord): string {
  const known = grantNames.get(agent);
  if (known !== undefined) return known;
  const made = Revocations.nameOf(grantOf(agent));
  grantNames.set(agent, made);
  return made;
}

/** The library demands a secret of a client; `Agents.accepts` never accepts this one. */
const unusable = 'a workload has none';

/** The agent as a client of the library (RFC 7591, 2). The library never compares its secret: `Agents.accepts` does. */
export function clientOf({ name, owner, secrets, keys }: AgentRecord): JsonObject {
  const valid = keys.filter(({ until }) => !isOver(until)).map(({ until: _until, ...key }) => key);
  return {
    client_id: `${agentClientMark}${name}`,
    client_name: `${name} of ${owner}`,
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
    ...(keys.length > 0
      ? { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: valid } }
      : { token_endpoint_auth_method: 'client_secret_basic', client_secret: secrets[0]?.hash ?? unusable }),
  };
}
