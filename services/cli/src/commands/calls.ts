/** Shows calls as they happen, the last that failed, and the way of one call through all processes. */
import type { Call, Missing, TapEvent } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { fitLine } from '../output/terminal.ts';
import { askApi, queryOf, type ApiOptions } from './api.ts';
import { lineOf } from './call-lines.ts';
import { followCalls, type FollowOptions } from './follow-calls.ts';

export interface CallsOptions extends FollowOptions {
  readonly server?: string;
  readonly tool?: string;
  readonly client?: string;
  readonly outcome?: string;
  readonly minMs?: string;
  readonly follow?: boolean;
}

export function listCalls(options: CallsOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { server, tool, client, outcome, minMs } = options;
    if (minMs !== undefined && !/^\d+(\.\d+)?$/.test(minMs))
      throw new CommandProblem('usage', `--min-ms: expected a number of milliseconds, not ${JSON.stringify(minMs)}`);
    const filter = { server, tool, client, outcome, minMs };
    if (options.follow === true) {
      await followCalls(options, filter);
      return 'done';
    }
    const { calls, missing } = await askApi(options, 'calls', `/calls${queryOf(filter)}`);
    if (options.json === true) {
      answerJson({ calls, missing });
      return 'done';
    }
    for (const call of calls.toReversed()) answer(lineOf(call));
    if (calls.length === 0) notice('no call has failed lately, and none was watched: watch them with --follow');
    sayMissing(missing);
  });
}

export function showCall(tag: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const page = await askApi(options, 'call', `/calls/${encodeURIComponent(await tagOf(tag, options))}`);
    if (options.json === true) {
      answerJson(page);
      return 'done';
    }
    answer(lineOf(page.call));
    for (const line of waterfall(page.events)) answer(`${fitLine(line)}\n`);
    for (const each of page.inner) answer(lineOf(each));
    if (page.events.length === 0) notice('nobody watched this call: of its way nothing is known');
    sayMissing(page.missing);
  });
}

/** The tag of the call that a user names by the beginning of its tag. @throws {CommandProblem} if several tags begin so. */
export async function tagOf(beginning: string, options: ApiOptions): Promise<string> {
  const { calls } = await askApi(options, 'calls', '/calls');
  return tagIn(calls, beginning);
}

/** The tag with this beginning; the beginning itself, if there is none. @throws {CommandProblem} if there are several. */
export function tagIn(calls: readonly Pick<Call, 'tag' | 'run'>[], beginning: string): string {
  if (calls.some(({ tag }) => tag === beginning)) return beginning;
  // The tags of the calls of a run begin with that of the run.
  const found = calls.filter(({ tag, run }) => tag.startsWith(beginning) && run?.startsWith(beginning) !== true);
  if (found.length > 1)
    throw new CommandProblem('usage', `several calls begin with ${beginning}`, { advice: 'Give more of the tag.' });
  return found[0]?.tag ?? beginning;
}

const barLength = 30;

/** One line for each event with its time after the first one. Clocks of several machines differ: `~` marks an event that seems to come before the first. */
function waterfall(events: readonly TapEvent[]): string[] {
  const first = events.find(({ from }) => from === 'edge') ?? events[0];
  if (first === undefined) return [];
  const last = Math.max(...events.map(({ at }) => at));
  const lasts = Math.max(last - first.at, 0.001);
  return events.map(({ tag: _tag, at, process: name, from, what, ...more }) => {
    const after = at - first.at;
    const place = Math.min(barLength - 1, Math.max(0, Math.round((after / lasts) * (barLength - 1))));
    const bar = `${' '.repeat(place)}▪${' '.repeat(barLength - 1 - place)}`;
    const said = Object.entries(more)
      .filter(([key]) =>
        ['server', 'tool', 'reason', 'outcome', 'running', 'waiting', 'asks', 'ms', 'payload'].includes(key),
      )
      .map(([key, value]) => `${key} ${typeof value === 'string' ? printable(value, 200) : JSON.stringify(value)}`);
    return `  ${`${after < 0 ? '~' : ''}${after.toFixed(1)}`.padStart(9)} ms  |${bar}|  ${from.padEnd(7)} ${what.padEnd(15)} ${printable(name).slice(0, 16)}  ${said.join(', ')}`;
  });
}

export function sayMissing(missing: Missing): void {
  if (missing.length > 0)
    notice(`not answering: ${missing.map(({ process: name, role }) => `${name} (${role})`).join(', ')}`);
}
