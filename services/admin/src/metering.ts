/** The acts of the admin port that show and change blocks, and show what callers used. */
import type { Audit } from '@omnibus/audit';
import { usageBucket, type Blocks, type Bus } from '@omnibus/bus';
import { blockKinds, type BlockKind, type UsageRow } from '@omnibus/protocol';
import { json, type AdminAnswer, type AdminRoute, type Logger, type Metrics } from '@omnibus/telemetry';
import { z } from 'zod';
import type { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { actsCounted, read } from './acts.ts';

/** What is kept on the bus. */
export interface Kept {
  readonly bus: Bus;
  readonly blocks: Blocks;
}

export interface MeteringRoutesOptions {
  readonly access: AdminAccess;
  /** Undefined as long as the process is starting. */
  readonly kept: () => Kept | undefined;
  /** Whether the configuration in force has a server of this name. */
  readonly hasServer: (name: string) => boolean;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined as long as the process is starting, and where nothing is recorded. */
  readonly audit: () => Audit | undefined;
}

const dayMs = 86_400_000;
/** As long as it is kept. */
const maxDays = 62;
const forMs = z
  .int()
  .positive()
  .max(3_650 * dayMs);
const newBlock = z.strictObject({
  kind: z.enum(blockKinds),
  name: z.string().min(1).max(1_000),
  forMs: forMs.optional(),
  because: z.string().max(500).optional(),
});

export function meteringRoutes({
  access,
  kept,
  hasServer,
  log,
  metrics,
  audit,
}: MeteringRoutesOptions): readonly AdminRoute[] {
  const act = actsCounted(metrics);
  const has = (): Kept => {
    const found = kept();
    if (found === undefined) throw new Error('the process is starting, and has no bus yet');
    return found;
  };
  return [
    act({ name: 'blocks', method: 'GET', act: 'blocks.list' }, () => json(200, has().blocks.all)),
    act({ name: 'blocks', method: 'POST', act: 'blocks.change' }, async ({ request, body }) => {
      const { kind, name, forMs: lasts, because } = read(newBlock, body);
      const problem = nameProblem(kind, name);
      if (problem !== undefined) throw new Error(`name: ${problem}`);
      const now = Date.now();
      const by = access.of(request).name;
      await has().blocks.add({
        kind,
        name,
        by,
        at: now,
        ...(lasts === undefined ? {} : { until: now + lasts }),
        ...(because === undefined ? {} : { because }),
      });
      log.warn(
        { act: 'block', by, address: request.socket.remoteAddress, kind, name, because, forMs: lasts },
        'an act at the admin port',
      );
      recordAct(audit(), access.of(request), request, 'block', {
        outcome: 'ok',
        details: { kind, name, because, for_ms: lasts },
      });
      const server = kind === 'server' ? name : kind === 'tool' ? name.split('/', 1)[0] : undefined;
      const note =
        server === undefined || hasServer(server) ? '' : `; there is no server ${JSON.stringify(server)} now`;
      return {
        status: 201,
        text: `${kind} ${name} is blocked${lasts === undefined ? '' : ` until ${new Date(now + lasts).toISOString()}`}${note}\n`,
      };
    }),
    act({ name: 'blocks', method: 'DELETE', act: 'blocks.change', hasRest: true }, async ({ request, rest = '' }) => {
      const end = rest.indexOf(':');
      const kind = rest.slice(0, Math.max(0, end));
      if (!isKind(kind)) throw new Error(`expected KIND:NAME, with one of ${blockKinds.join(', ')}`);
      const name = rest.slice(end + 1);
      if (!(await has().blocks.remove(kind, name)))
        return { status: 404, text: `${kind} ${name} is not blocked; "omnibus blocks" lists all blocks\n` };
      log.warn(
        { act: 'unblock', by: access.of(request).name, address: request.socket.remoteAddress, kind, name },
        'an act at the admin port',
      );
      recordAct(audit(), access.of(request), request, 'unblock', { outcome: 'ok', details: { kind, name } });
      return { status: 200, text: `${kind} ${name} is not blocked any more\n` };
    }),
    act({ name: 'usage', method: 'GET', act: 'usage' }, async ({ request }): Promise<AdminAnswer> => {
      const days = Number(new URL(request.url ?? '/', 'http://admin').searchParams.get('days') ?? 1);
      if (!Number.isInteger(days) || days < 1 || days > maxDays)
        throw new Error(`days: expected a number from 1 to ${maxDays}`);
      const { tenant } = access.of(request);
      const rows = await usageSince(has().bus, days);
      return json(200, tenant === undefined ? rows : rows.filter((row) => row.tenant === tenant));
    }),
  ];
}

/** Why a name can be nobody's, and nothing's. A block that matches nothing would leave whoever made it in the belief that somebody is shut out. */
function nameProblem(kind: BlockKind, name: string): string | undefined {
  if (name !== name.trim()) return 'expected no blanks around it';
  switch (kind) {
    case 'user':
      return name.includes('|') || /^(key:.|p_.)/.test(name)
        ? undefined
        : 'expected "ISSUER|SUBJECT", "key:SUBJECT" for the API keys of a subject, or the principal of a log line (p_...)';
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

/** The use of the last days, including today, of all workers together; whoever used most comes first. */
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
