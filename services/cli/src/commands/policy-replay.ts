/** `omnibus policy replay`: the recorded calls that rules about labels, and other rules that stop calls, would have stopped. */
import { readFileSync } from 'node:fs';
import { writersOf, type AnyRecord } from '@omnibus/audit';
import { CommandProblem } from '@omnibus/client';
import type { Config, GivenRole } from '@omnibus/config';
import { isObject, objectIn, printable } from '@omnibus/protocol';
import { parse } from 'yaml';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { alignColumns } from '../output/table.ts';
import { recordsInOrder, type Lane } from '../policy/records-in-order.ts';
import { openReplay, type Replayed } from '../policy/replay.ts';
import { foldersOf, isFolder, linesOnBus, timeOf } from './audit.ts';
import { needSettings } from './settings.ts';

export interface ReplayPolicyOptions {
  readonly config?: string;
  readonly flow?: string;
  readonly hints?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
  readonly bus?: boolean | GivenRole;
  readonly json?: boolean;
}

const maxShown = 10_000;

export function replayPolicy(places: readonly string[], options: ReplayPolicyOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const limit = Number(options.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > maxShown)
      throw new CommandProblem('usage', `--limit: expected a number from 1 to ${maxShown}, not "${options.limit}"`);
    const [since, until] = [timeOf(options.since), timeOf(options.until)];
    const { config } = await needSettings(options.config, { role: 'session' });
    const replay = await openReplay({
      config: withFlow(config, options.flow),
      hints: options.hints === undefined ? new Map() : hintsIn(options.hints),
    });
    let damaged = 0;
    const unreadable = (): void => {
      damaged += 1;
    };
    for await (const record of recordsAt(places, options, unreadable)) {
      const time = String(record['time']);
      if ((since === undefined || time >= since) && (until === undefined || time < until)) replay.add(record);
    }
    const { result } = replay;
    if (options.json === true) answerJson({ ...result, rows: result.rows.slice(0, limit), damaged });
    else show(result, limit, damaged);
    return result.calls === 0 ? 'unknown' : 'done';
  });
}

/** The configuration with another `flow` at all endpoints. @throws {CommandProblem} */
function withFlow(config: Config, flow: string | undefined): Config {
  if (flow === undefined) return config;
  if (flow !== 'guarded' && flow !== 'rules')
    throw new CommandProblem('usage', `--flow: expected guarded or rules, got ${JSON.stringify(flow)}`);
  const profiles = Object.fromEntries(
    Object.entries(config.profiles).map(([name, { flow: _own, ...profile }]) => [name, profile]),
  );
  return { ...config, flow, profiles };
}

/** Annotations of tools by `server/tool`, or an answer of the API at `/api/v1/catalogue`. @throws {CommandProblem} */
function hintsIn(file: string): ReadonlyMap<string, unknown> {
  let given: unknown;
  try {
    given = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandProblem('config', `${file}: ${(error as Error).message}`);
  }
  if (!isObject(given))
    throw new CommandProblem('config', `${file}: expected "server/tool: { readOnlyHint: true }" on each line`);
  const { entries } = given;
  if (!Array.isArray(entries)) return new Map(Object.entries(given));
  return new Map(
    entries
      .filter((each: unknown) => isObject(each))
      .map((each) => [`${String(each['server'])}/${String(each['ownName'])}`, each['annotations'] ?? null]),
  );
}

async function* recordsAt(
  given: readonly string[],
  { config, bus }: ReplayPolicyOptions,
  unreadable: () => void,
): AsyncGenerator<AnyRecord> {
  if (bus !== undefined && bus !== false) {
    for await (const { text } of linesOnBus(config, bus === true ? 'all' : bus)) {
      const record = objectIn(text);
      if (record === undefined) unreadable();
      else yield record;
    }
    return;
  }
  const lanes: Lane[] = [];
  for (const place of given.length > 0 ? given : await foldersOf(config))
    lanes.push(...((await isFolder(place)) ? (await writersOf(place)).values() : [[place]]));
  yield* recordsInOrder(lanes, unreadable);
}

function show(result: Replayed, limit: number, damaged: number): void {
  const { records, calls, from, until, asked, denied, unsure, rows, others, forgotten, unsureRules, unhinted } = result;
  if (calls === 0) {
    notice(`no call that reached a server is among ${records} records`);
    return;
  }
  const shown = rows.slice(0, limit);
  if (shown.length > 0)
    answer(
      `${alignColumns([
        ['CALLS', 'WOULD', 'TOOL', 'USER', 'RULE', 'LABELS OF THE FIRST'],
        ...shown.map(({ would, rule, server, item, user, labels, calls: count, unsure: perhaps }) => [
          `${count}${perhaps === 0 ? '' : ` (${perhaps} perhaps)`}`,
          would,
          printable(`${server}/${item}`),
          printable(user),
          printable(rule),
          printable(labels.join(', ') || '-'),
        ]),
      ])}\n`,
    );
  const share = ((100 * (asked + denied)) / calls).toFixed(1);
  answer(
    `${asked + denied} of ${calls} calls (${share} %) from ${from} to ${until} would have been stopped: ${asked} until an approval, ${denied} refused\n`,
  );
  const left = rows.length - shown.length;
  if (left > 0) notice(`${left} more rows: --limit shows them`);
  if (others > 0) notice(`${others} stopped calls are in no row, since there are more rows than are kept`);
  if (unsure > 0)
    notice(
      `${unsure} of them perhaps: records do not have the groups, scopes, claims or arguments that ${unsureRules.map((each) => printable(each)).join(', ')} depend on`,
    );
  if (unhinted.length > 0)
    notice(
      `the hints of tools of ${unhinted.join(', ')} are not known here, so each counts as one that writes: --hints`,
    );
  if (forgotten > 0)
    notice(
      `labels of ${forgotten} conversations were forgotten within a day after their last call, since there are too many: replay shorter times`,
    );
  if (damaged > 0) notice(`${damaged} lines are no records: omnibus audit verify says which`);
}
