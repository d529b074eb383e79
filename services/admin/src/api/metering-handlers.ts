/** The operations of the API that show and change blocks, and show what callers used. */
import { usageBucket, type Bus } from '@omnibus/bus';
import { blockKinds, type BlockKind, type UsageRow } from '@omnibus/protocol';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions, Kept } from './options.ts';
import type { Handlers } from './site.ts';

interface MeteringHandlersOptions extends Pick<ApiOptions, 'kept' | 'note'> {
  readonly access: Pick<ApiOptions['access'], 'of'>;
  /** Whether the configuration in force has a server of this name. */
  readonly hasServer: (name: string) => boolean;
}

const dayMs = 86_400_000;

export function meteringHandlers({
  access,
  kept,
  hasServer,
  note,
}: MeteringHandlersOptions): Pick<Handlers, 'blocks' | 'block' | 'unblock' | 'usage'> {
  const has = (): Kept => {
    const found = kept();
    if (found === undefined) throw new ApiProblem('starting', 'the process is starting, and has no bus yet');
    return found;
  };
  return {
    blocks: () => Promise.resolve({ blocks: [...has().blocks.all] }),
    block: async ({ request, body: { kind, name, forMs, because } }) => {
      const problem = nameProblem(kind, name);
      if (problem !== undefined) throw new ApiProblem('invalid', `name: ${problem}`);
      const now = Date.now();
      const until = forMs === undefined ? {} : { until: now + forMs };
      await has().blocks.add({
        kind,
        name,
        by: access.of(request).name,
        at: now,
        ...until,
        ...(because === undefined ? {} : { because }),
      });
      note(request, 'block', { kind, name, because, for_ms: forMs });
      const server = kind === 'server' ? name : kind === 'tool' ? name.split('/', 1)[0] : undefined;
      return { kind, name, ...until, isServerKnown: server === undefined || hasServer(server) };
    },
    unblock: async ({ request, given }) => {
      const end = given.indexOf(':');
      const kind = given.slice(0, Math.max(0, end));
      if (!isKind(kind)) throw new ApiProblem('invalid', `expected KIND:NAME, with one of ${blockKinds.join(', ')}`);
      const name = given.slice(end + 1);
      if (!(await has().blocks.remove(kind, name)))
        throw new ApiProblem('unknown', `${kind} ${name} is not blocked; "omnibus blocks" lists all blocks`);
      note(request, 'unblock', { kind, name });
      return { kind, name };
    },
    usage: async ({ request, query: { days } }) => {
      const { tenant } = access.of(request);
      const rows = await usageSince(has().bus, days);
      return {
        rows: rows
          .filter((row) => tenant === undefined || row.tenant === tenant)
          .map(({ groups, ...row }) => ({ ...row, groups: [...groups] })),
      };
    },
  };
}

/** Why a name can match no caller and no target. A block without a match would mislead its author. */
function nameProblem(kind: BlockKind, name: string): string | undefined {
  if (name !== name.trim()) return 'expected no blanks around it';
  switch (kind) {
    case 'user':
      return name.includes('|') || /^(key:.|agent:.|p_.)/.test(name)
        ? undefined
        : 'expected "ISSUER|SUBJECT", "key:SUBJECT" for the API keys of a subject, "agent:NAME", or the principal of a log line (p_...)';
    // The name is not repeated: it may be a whole key.
    case 'key':
      return name.includes('_') ? 'expected the part between the two "_" of a key' : undefined;
    case 'tool':
      return !/^[^/]+\/./s.test(name)
        ? 'expected server/tool, with the name that the server gives it'
        : name.includes('*')
          ? 'a block is of one tool, and "*" stands for no other; block each, or the server, or write a rule with `deny`'
          : undefined;
    case 'server':
      return name.includes('*') ? 'a block is of one server, and "*" stands for no other' : undefined;
    case 'client':
      return undefined;
  }
}

const isKind = (text: string): text is BlockKind => (blockKinds as readonly string[]).includes(text);

/** The use of the last days, including today, of all workers together; the heaviest user comes first. */
async function usageSince(bus: Bus, days: number): Promise<readonly UsageRow[]> {
  const since = new Date(Date.now() - (days - 1) * dayMs).toISOString().slice(0, 10);
  const sums = new Map<string, UsageRow>();
  const store = await bus.keyValue(usageBucket);
  const watch = await store.watch((change) => {
    if (change.kind !== 'put' || change.value.day < since) return;
    for (const row of change.value.rows) {
      const key = JSON.stringify([row.tenant, row.caller, row.server, row.tool]);
      const sum = sums.get(key);
      sums.set(
        key,
        sum === undefined
          ? row
          : { ...row, calls: sum.calls + row.calls, failed: sum.failed + row.failed, bytes: sum.bytes + row.bytes },
      );
    }
  });
  watch.close();
  return [...sums.values()].toSorted((a, b) => b.calls - a.calls);
}
