/** Blocks and unblocks, and shows who is blocked and what callers used: what the admin port is asked for from the command line. */
import { blockKinds, printable, type BlockRecord, type UsageRow } from '@omnibus/protocol';
import { parseDuration } from '@omnibus/config';
import { alignColumns } from '../table.ts';
import { askAdmin, told, type AskOptions } from './administer.ts';

export interface BlockOptions extends AskOptions {
  readonly for?: string;
  readonly because?: string;
}

export interface ShowOptions extends AskOptions {
  readonly json?: boolean;
}

export interface UsageOptions extends ShowOptions {
  readonly days: string;
  readonly by: 'caller' | 'team' | 'tool' | 'tenant' | 'server';
}

export async function block(kind: string, name: string, { for: lasts, because, ...options }: BlockOptions): Promise<void> {
  await told(async () => {
    if (!(blockKinds as readonly string[]).includes(kind)) throw new Error(`expected one of ${blockKinds.join(', ')}, not ${JSON.stringify(kind)}`);
    const forMs = lasts === undefined ? undefined : parseDuration(lasts);
    if (lasts !== undefined && (forMs === undefined || forMs <= 0)) throw new Error(`--for: expected a time such as "30m", "1h" or "168h", not ${JSON.stringify(lasts)}`);
    process.stdout.write((await askAdmin(options, 'POST', '/blocks', { kind, name, forMs, because })).text);
  });
}

export async function unblock(kind: string, name: string, options: AskOptions): Promise<void> {
  await told(async () => {
    process.stdout.write((await askAdmin(options, 'DELETE', `/blocks/${encodeURIComponent(`${kind}:${name}`)}`)).text);
  });
}

export async function showBlocks({ json = false, ...options }: ShowOptions): Promise<void> {
  await told(async () => {
    const { text } = await askAdmin(options, 'GET', '/blocks');
    const blocks = JSON.parse(text) as readonly BlockRecord[];
    const rows = blocks.map(({ kind, name, by, at, until, because }) => [kind, printable(name), dateOf(at), until === undefined ? '-' : dateOf(until), printable(by), printable(because ?? '')]);
    process.stdout.write(json ? text : blocks.length === 0 ? 'nothing is blocked\n' : `${alignColumns([['KIND', 'NAME', 'SINCE', 'UNTIL', 'BY', 'BECAUSE'], ...rows])}\n`);
  });
}

export async function showUsage({ json = false, days, by, ...options }: UsageOptions): Promise<void> {
  await told(async () => {
    const { text } = await askAdmin(options, 'GET', `/usage?days=${encodeURIComponent(days)}`);
    const sums = summed(JSON.parse(text) as readonly UsageRow[], by);
    if (json) {
      process.stdout.write(by === 'caller' ? text : `${JSON.stringify(sums, null, 2)}\n`);
      return;
    }
    const rows = sums.map(({ name, calls, failed, bytes }) => [printable(name), String(calls), String(failed), String(bytes)]);
    process.stdout.write(rows.length === 0 ? 'no known caller has used anything\n' : `${alignColumns([[by.toUpperCase(), 'CALLS', 'FAILED', 'BYTES'], ...rows])}\n`);
  });
}

interface Sum {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly bytes: number;
}

const namesOf: Readonly<Record<UsageOptions['by'], (row: UsageRow) => readonly string[]>> = {
  caller: ({ caller, tenant }) => [tenant === undefined ? caller : `${caller} (${tenant})`],
  // Who is in two teams counts in both.
  team: ({ groups }) => (groups.length === 0 ? ['-'] : groups),
  tool: ({ server, tool }) => [`${server}/${tool}`],
  tenant: ({ tenant }) => [tenant ?? '-'],
  server: ({ server }) => [server],
};

function summed(rows: readonly UsageRow[], by: UsageOptions['by']): readonly Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    for (const name of namesOf[by](row)) {
      const { calls = 0, failed = 0, bytes = 0 } = sums.get(name) ?? {};
      sums.set(name, { name, calls: calls + row.calls, failed: failed + row.failed, bytes: bytes + row.bytes });
    }
  }
  return [...sums.values()].toSorted((a, b) => b.calls - a.calls);
}

const dateOf = (ms: number): string => new Date(ms).toISOString();
