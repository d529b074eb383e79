/** The operations of the API about agents. Blocks of agents are those of callers (`agent:NAME`). */
import type { JsonWebKey } from 'node:crypto';
import { resolve } from 'node:path';
import type { AgentSeen } from '@omnibus/admin-api';
import { UnknownRecord } from '../records/rewrite.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

interface AgentHandlersOptions extends Pick<ApiOptions, 'config' | 'baseFolder' | 'kept' | 'note'> {
  /** When agents were last accepted, in milliseconds since 1970, by `agent:NAME`. */
  readonly keyUses: () => Promise<ReadonlyMap<string, number>>;
}

export function agentHandlers(
  options: AgentHandlersOptions,
): Pick<Handlers, 'agents' | 'makeAgent' | 'rotateAgent' | 'removeAgent'> {
  const { note } = options;
  const file = (): string => fileOf(options);
  return {
    agents: () => seen(options, file),
    makeAgent: async ({ request, body }) => {
      const { addAgent } = await import('../records/agent-records.ts');
      const secret = await inWords(() =>
        addAgent(file(), { ...body, keys: body.keys as readonly JsonWebKey[] | undefined }),
      );
      note(request, 'agents.add', { agent: body.name, owner: body.owner });
      return made(body.name, secret);
    },
    rotateAgent: async ({ request, given, body: { keepMs, keys } }) => {
      const { rotateAgent } = await import('../records/agent-records.ts');
      const secret = await inWords(() =>
        rotateAgent(file(), given, { keepMs, keys: keys as readonly JsonWebKey[] | undefined }),
      );
      note(request, 'agents.rotate', { agent: given, keep_ms: keepMs });
      return made(given, secret);
    },
    removeAgent: async ({ request, given }) => {
      const { removeAgentFrom } = await import('../records/agent-records.ts');
      await inWords(() => removeAgentFrom(file(), given));
      note(request, 'agents.remove', { agent: given });
      return { name: given };
    },
  };
}

/** The agents as the API shows them, without digests and keys. */
async function seen(
  { kept, keyUses }: AgentHandlersOptions,
  file: () => string,
): Promise<{ readonly agents: AgentSeen[] }> {
  const { readAgents } = await import('../records/agent-records.ts');
  const [records, uses] = await Promise.all([inWords(() => readAgents(file())), keyUses()]);
  const blocks = new Map(
    (kept()?.blocks.all ?? []).flatMap((block) => (block.kind === 'user' ? [[block.name, block] as const] : [])),
  );
  return {
    agents: records.map(({ id: _id, secrets: _secrets, round: _round, keys, isWorkload, ...rest }): AgentSeen => {
      const block = blocks.get(`agent:${rest.name}`);
      const at = uses.get(`agent:${rest.name}`);
      const isOver = rest.expires !== undefined && Date.parse(rest.expires) <= Date.now();
      return {
        ...rest,
        client: `agent-${rest.name}`,
        proof: isWorkload === true ? 'workload' : keys.length > 0 ? 'key' : 'secret',
        state: block !== undefined ? 'blocked' : isOver ? 'expired' : 'valid',
        ...(block?.because === undefined ? {} : { because: block.because }),
        ...(block?.until === undefined ? {} : { blockedUntil: block.until }),
        ...(at === undefined ? {} : { lastUse: new Date(at).toISOString() }),
      };
    }),
  };
}

const made = (
  name: string,
  secret: string | undefined,
): { readonly name: string; readonly client: string; readonly secret?: string } => ({
  name,
  client: `agent-${name}`,
  ...(secret === undefined ? {} : { secret }),
});

/** @throws {ApiProblem} */
function fileOf({ config, baseFolder }: AgentHandlersOptions): string {
  const { auth } = config();
  const file = auth === undefined || auth === 'none' ? undefined : auth.server?.agents?.file;
  if (file === undefined)
    throw new ApiProblem(
      'conflict',
      'auth.server.agents names no file of agents',
      'add "agents: { file: agents.yaml }" to auth.server (docs/how-to/agents.md)',
    );
  return resolve(baseFolder, file);
}

/** @throws {ApiProblem} with the words of an error, which are for the operator. */
async function inWords<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem(error instanceof UnknownRecord ? 'unknown' : 'invalid', (error as Error).message);
  }
}
