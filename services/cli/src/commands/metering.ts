/** Blocks and unblocks callers, keys, clients, tools and servers at an admin port, and shows blocks and what callers have used. */
import type { AnswerOf } from '@omnibus/admin-api';
import { blockKinds, printable, type BlockKind } from '@omnibus/protocol';
import { answerEither, answerList, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { askApi, queryOf, type ApiOptions } from './api.ts';
import { durationOf } from './durations.ts';

export interface BlockOptions extends ApiOptions {
  readonly for?: string;
  readonly because?: string;
}

export interface UsageOptions extends ApiOptions {
  readonly days: string;
  readonly by: 'caller' | 'team' | 'tool' | 'tenant' | 'server';
}

export function block(kind: string, name: string, { for: lasts, because, ...options }: BlockOptions): Promise<void> {
  return runCommand(options.json, async () => {
    if (!isKind(kind))
      throw new CommandProblem('usage', `expected one of ${blockKinds.join(', ')}, not ${JSON.stringify(kind)}`);
    const forMs = durationOf('--for', lasts);
    const { until, isServerKnown } = await askApi(options, 'block', '/blocks', 'POST', { kind, name, forMs, because });
    const server = kind === 'tool' ? name.split('/', 1)[0] : name;
    const note = isServerKnown ? '' : `; there is no server ${JSON.stringify(server)} now`;
    answerEither(
      options.json,
      { kind, name, isBlocked: true },
      `${kind} ${printable(name)} is blocked${until === undefined ? '' : ` until ${dateOf(until)}`}${note}\n`,
    );
  });
}

export function unblock(kind: string, name: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    await askApi(options, 'unblock', `/blocks/${encodeURIComponent(`${kind}:${name}`)}`, 'DELETE');
    answerEither(
      options.json,
      { kind, name, isBlocked: false },
      `${kind} ${printable(name)} is not blocked any more\n`,
    );
  });
}

export function showBlocks({ json = false, ...options }: ApiOptions): Promise<void> {
  return runCommand(json, async () => {
    const { blocks } = await askApi(options, 'blocks', '/blocks');
    const rows = blocks.map(({ kind, name, by, at, until, because, isPause }) => [
      isPause === true ? 'server (paused)' : kind,
      name,
      dateOf(at),
      until === undefined ? '-' : dateOf(until),
      by,
      because ?? '',
    ]);
    answerList(json, blocks, {
      head: ['KIND', 'NAME', 'SINCE', 'UNTIL', 'BY', 'BECAUSE'],
      rows,
      none: 'nothing is blocked',
    });
  });
}

export function showUsage({ json = false, days, by, ...options }: UsageOptions): Promise<void> {
  return runCommand(json, async () => {
    const { rows: used } = await askApi(options, 'usage', `/usage${queryOf({ days })}`);
    const sums = summed(used, by);
    const rows = sums.map(({ name, calls, failed, bytes }) => [name, String(calls), String(failed), String(bytes)]);
    answerList(
      json,
      { by, sums, rows: used },
      { head: [by.toUpperCase(), 'CALLS', 'FAILED', 'BYTES'], rows, none: 'no known caller has used anything' },
    );
  });
}

type UsageRow = AnswerOf<'usage'>['rows'][number];

const isKind = (text: string): text is BlockKind => (blockKinds as readonly string[]).includes(text);

interface Sum {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly bytes: number;
}

const namesOf: Readonly<Record<UsageOptions['by'], (row: UsageRow) => readonly string[]>> = {
  caller: ({ caller, tenant }) => [tenant === undefined ? caller : `${caller} (${tenant})`],
  // A caller in two teams counts in both.
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
