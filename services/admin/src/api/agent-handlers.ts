/** The operations of the API about agents. Blocks of agents are those of callers (`agent:NAME`). */
import type { JsonWebKey } from 'node:crypto';
import type { AgentSeen } from '@omnibus/admin-api';
import type { ApiOptions } from './options.ts';
import { fileOf, inWords } from './record-files.ts';
import type { Handlers } from './site.ts';

interface AgentHandlersOptions extends Pick<ApiOptions, 'config' | 'baseFolder' | 'kept' | 'note'> {
  /** When agents were last accepted, in milliseconds since 1970, by `agent:NAME`. */
  readonly keyUses: () => Promise<ReadonlyMap<string, number>>;
}

export function agentHandlers(
  options: AgentHandlersOptions,
): Pick<Handlers, 'agents' | 'makeAgent' | 'rotateAgent' | 'removeAgent'> {
  const { note } = options;
  const file = (): string => agentsFile(options);
  return {
    agents: () => seen(options, file),
    makeAgent: async ({ request, body }) => {
      const { addAgent, clientIdOf } = await import('../records/agent-records.ts');
      const secret = await inWords(() =>
        addAgent(file(), { ...body, keys: body.keys as readonly JsonWebKey[] | undefined }),
      );
      note(request, 'agents.add', { agent: body.name, owner: body.owner });
      return made(body.name, clientIdOf(body.name), secret);
    },
    rotateAgent: async ({ request, given, body: { keepMs, keys } }) => {
      const { rotateAgent, clientIdOf } = await import('../records/agent-records.ts');
      const secret = await inWords(() =>
        rotateAgent(file(), given, { keepMs, keys: keys as readonly JsonWebKey[] | undefined }),
      );
      note(request, 'agents.rotate', { agent: given, keep_ms: keepMs });
      return made(given, clientIdOf(given), secret);
    },
    removeAgent: async ({ request, given }) => {
      const { removeAgentFrom } = await import('../records/agent-records.ts');
      await inWords(() => removeAgentFrom(file(), given));
      note(request, 'agents.remove', { agent: given });
      return { name: given };
    },
  };
}

/** The agents; none where no file of them is configured. */
export async function agentsOf(options: AgentHandlersOptions): Promise<readonly AgentSeen[]> {
  const { auth } = options.config();
  const hasFile = auth !== undefined && auth !== 'none' && auth.server?.agents !== undefined;
  return hasFile ? (await seen(options, () => agentsFile(options))).agents : [];
}

/** The agents as the API shows them, without digests and keys. */
async function seen(
  { kept, keyUses }: AgentHandlersOptions,
  file: () => string,
): Promise<{ readonly agents: AgentSeen[] }> {
  const { readAgents, clientIdOf } = await import('../records/agent-records.ts');
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
        client: clientIdOf(rest.name),
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
  client: string,
  secret: string | undefined,
): { readonly name: string; readonly client: string; readonly secret?: string } => ({
  name,
  client,
  ...(secret === undefined ? {} : { secret }),
});

/** @throws {ApiProblem} */
function agentsFile({ config, baseFolder }: AgentHandlersOptions): string {
  const { auth } = config();
  return fileOf(
    auth === undefined || auth === 'none' ? undefined : auth.server?.agents?.file,
    baseFolder,
    'auth.server.agents names no file of agents',
    'add "agents: { file: agents.yaml }" to auth.server (docs/how-to/agents.md)',
  );
}
