/** Reads and changes the file of agents for the admin port. Errors have messages for the operator. */
import { existsSync, readFileSync } from 'node:fs';
import type { JsonWebKey } from 'node:crypto';
import {
  agentClientMark,
  formatAgents,
  newAgentId,
  newSecret,
  parseAgents,
  publicKeyOf,
  type AgentRecord,
} from '@omnibus/authorization';
import { dateOf } from './key-records.ts';
import { rewrite, UnknownRecord } from './rewrite.ts';

export interface NewAgent {
  readonly name: string;
  readonly owner: string;
  readonly tenant?: string | undefined;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** `/mcp` is the endpoint of all servers. */
  readonly endpoints?: readonly string[] | undefined;
  readonly expires?: string | undefined;
  readonly note?: string | undefined;
  /** Default: the agent gets a secret. */
  readonly keys?: readonly JsonWebKey[] | undefined;
  readonly isWorkload?: true | undefined;
}

/** The id by which an agent asks for tokens. */
export const clientIdOf = (name: string): string => `${agentClientMark}${name}`;

/** @returns no agents where there is no file. @throws {Error} where it is not a file of agents. */
export function readAgents(file: string): readonly AgentRecord[] {
  if (!existsSync(file)) return [];
  try {
    return parseAgents(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** @returns the secret, which is stored nowhere; undefined for an agent with keys. @throws {Error} */
export async function addAgent(file: string, wanted: NewAgent): Promise<string | undefined> {
  const { name, owner, tenant, groups, scopes, endpoints, expires, note, keys, isWorkload } = wanted;
  const until = expires === undefined ? undefined : dateOf(expires);
  if (expires !== undefined && (until === undefined || Date.parse(until) <= Date.now()))
    throw new Error(
      `expires: expected a number of days such as "90d", or a date that is not over, not ${JSON.stringify(expires)}`,
    );
  if (isWorkload === true && keys !== undefined) throw new Error('keys: a workload has no key of its own');
  const { secret, ...proven } = isWorkload === true ? workloadProof : proofOf(keys);
  await change(file, (agents) => {
    if (agents.some((agent) => agent.name === name))
      throw new Error(
        `there is an agent ${JSON.stringify(name)} already; "omnibus agents rotate" gives it another secret`,
      );
    return [
      ...agents,
      {
        name,
        id: newAgentId(),
        owner,
        ...(tenant === undefined ? {} : { tenant }),
        groups: [...groups],
        scopes: [...scopes],
        ...(endpoints === undefined ? {} : { endpoints: endpoints.map((each) => each.replace(/^\/mcp(\/|$)/, '')) }),
        ...proven,
        created: new Date().toISOString(),
        ...(until === undefined ? {} : { expires: until }),
        ...(note === undefined ? {} : { note }),
        round: 0,
      },
    ];
  });
  return secret;
}

/**
 * Gives an agent another secret, or other keys.
 * @param keepMs how long the old secrets or keys stay valid; with 0 they end now, and all tokens of the agent too.
 * @returns the secret; undefined for an agent with keys.
 * @throws {Error}
 */
export async function rotateAgent(
  file: string,
  name: string,
  { keepMs, keys }: { readonly keepMs: number; readonly keys?: readonly JsonWebKey[] | undefined },
): Promise<string | undefined> {
  let secret: string | undefined;
  await change(
    file,
    (agents) =>
      agents.map((agent) => {
        if (agent.name !== name) return agent;
        if (agent.isWorkload === true)
          throw new Error(`the agent ${JSON.stringify(name)} is a workload: its issuer rotates what proves it`);
        if (keys === undefined && agent.keys.length > 0)
          throw new Error(`the agent ${JSON.stringify(name)} signs assertions with a key: give its next public key`);
        const proof = proofOf(keys);
        ({ secret } = proof);
        if (keepMs === 0) return { ...agent, secrets: proof.secrets, keys: proof.keys, round: agent.round + 1 };
        if (proof.keys.length > 0 !== agent.keys.length > 0)
          throw new Error(
            `the agent ${JSON.stringify(name)} cannot have a secret and a key at once: rotate it without keeping the old one`,
          );
        const until = new Date(Date.now() + keepMs).toISOString();
        return {
          ...agent,
          secrets: [...proof.secrets, ...keptUntil(agent.secrets, until)].slice(0, 4),
          keys: [...proof.keys, ...keptUntil(agent.keys, until)].slice(0, 8),
        };
      }),
    name,
  );
  return secret;
}

/** @throws {Error} where there is no such agent. */
export function removeAgentFrom(file: string, name: string): Promise<void> {
  return change(file, (agents) => agents.filter((agent) => agent.name !== name), name);
}

type Proof = Pick<AgentRecord, 'secrets' | 'keys' | 'isWorkload'> & { readonly secret?: string };
const workloadProof: Proof = { secrets: [], keys: [], isWorkload: true };

function proofOf(keys: readonly JsonWebKey[] | undefined): Proof {
  if (keys !== undefined && keys.length > 0) return { secrets: [], keys: keys.map((key) => publicKeyOf(key)) };
  const { secret, record } = newSecret();
  return { secret, secrets: [record], keys: [] };
}

/** Secrets or keys that are still valid, until a time at most. */
function keptUntil<Each extends { readonly until?: string | undefined }>(all: readonly Each[], until: string): Each[] {
  return all
    .filter((each) => each.until === undefined || Date.parse(each.until) > Date.now())
    .map((each) => ({ ...each, until: earlier(each.until, until) }));
}

const earlier = (one: string | undefined, other: string): string =>
  one !== undefined && Date.parse(one) < Date.parse(other) ? one : other;

/** @param needed an agent that must be there. */
function change(
  file: string,
  make: (agents: readonly AgentRecord[]) => readonly AgentRecord[],
  needed?: string,
): Promise<void> {
  return rewrite(file, () => {
    const agents = readAgents(file);
    if (needed !== undefined && !agents.some(({ name }) => name === needed))
      throw new UnknownRecord(`there is no agent ${JSON.stringify(needed)}; "omnibus agents list" shows them`);
    const text = formatAgents(make(agents));
    parseAgents(text); // Throws before the write if the gateway would refuse the text.
    return text;
  });
}
