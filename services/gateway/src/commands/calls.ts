/** Shows calls as they happen, the last that failed, and the way of one call through all processes. */
import { callOf, type Call, type Missing, type TapEvent, type Watched } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerJson, CommandProblem, notice, runCommand } from '../outcome.ts';
import { fitLine, paint } from '../terminal.ts';
import { askApi, followApi, queryOf, type ApiOptions } from './api.ts';

export interface CallsOptions extends ApiOptions {
  readonly server?: string;
  readonly tool?: string;
  readonly client?: string;
  readonly outcome?: string;
  readonly minMs?: string;
  readonly follow?: boolean;
}

/** Milliseconds after the end of a call until the events of all processes about it have arrived. */
const wholeMs = 400;
/** Calls that are followed at the same time; beyond that the oldest is dropped. */
const maxOpen = 1_000;

export function listCalls(options: CallsOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { server, tool, client, outcome, minMs } = options;
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
    return 'done';
  });
}

async function followCalls(options: CallsOptions, filter: Readonly<Record<string, string | undefined>>): Promise<void> {
  const open = new Map<string, TapEvent[]>();
  const print = (tag: string): void => {
    const events = open.get(tag);
    open.delete(tag);
    if (events === undefined) return;
    const call = callOf(events);
    answer(options.json === true ? `${JSON.stringify(call)}\n` : lineOf(call));
  };
  const hear = (event: TapEvent): void => {
    const events = open.get(event.tag);
    if (events === undefined && !isBeginning(event)) return;
    const now = [...events ?? [], event];
    open.set(event.tag, now);
    if (open.size > maxOpen) open.delete(open.keys().next().value as string);
    if (now.filter(isEnd).length === 1 && isEnd(event)) setTimeout(() => print(event.tag), wholeMs).unref();
  };
  if (options.json !== true && process.stderr.isTTY) notice('watching; Ctrl-C ends it');
  await followApi(options, `/watch${queryOf({ topics: 'calls', ...filter })}`, (name, data) => {
    if (name !== 'calls') return true;
    const { events, dropped } = data as Watched;
    for (const event of events) hear(event);
    if (dropped > 0) notice(`${dropped} more calls were not shown`);
    return true;
  });
}

const isBeginning = ({ what }: TapEvent): boolean => what === 'arrived' || what === 'routed' || what === 'settled';
const isEnd = ({ what }: TapEvent): boolean => what === 'settled' || what === 'answered' || what === 'refused' || what === 'gone';

const marks: Readonly<Record<string, string>> = { result: '✓', toolError: '!', error: '✗', fault: '✗', timeout: '✗', cancelled: '○' };

/** One line for a call: cut to the width of a terminal, or whole with tabs in a pipe. */
function lineOf({ tag, at, client, server, tool, name, method, outcome, reason, problem, ms }: Call): string {
  const what = server === undefined ? (name ?? method) : `${server}/${tool ?? name ?? method}`;
  const time = new Date(at).toISOString();
  const took = ms === undefined ? '' : `${ms} ms`;
  const cells = [client ?? '-', what, outcome ?? 'answered', took, [reason, problem].filter((text) => text !== undefined).join(': ')].map((text) => printable(text));
  if (!process.stdout.isTTY) return `${[time, tag, ...cells].join('\t')}\n`;
  const mark = marks[outcome ?? 'result'] ?? ' ';
  const line = fitLine(`${time.slice(11, 23)}  ${(cells[0] ?? '').padEnd(12)} ${mark} ${(cells[1] ?? '').padEnd(30)} ${(cells[3] ?? '').padStart(10)}  ${cells[4] ?? ''}  ${tag.slice(0, 12)}`);
  return `${outcome === undefined || outcome === 'result' ? line : paint(outcome === 'cancelled' ? 'dim' : 'red', line)}\n`;
}

export function showCall(tag: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { calls } = await askApi(options, 'calls', '/calls');
    const found = calls.filter((each) => each.tag.startsWith(tag));
    if (found.length > 1) throw new CommandProblem('usage', `several calls begin with ${tag}`, { advice: 'Give more of the tag.' });
    const page = await askApi(options, 'call', `/calls/${encodeURIComponent(found[0]?.tag ?? tag)}`);
    if (options.json === true) {
      answerJson(page);
      return 'done';
    }
    answer(lineOf(page.call));
    for (const line of waterfall(page.events)) answer(`${fitLine(line)}\n`);
    if (page.events.length === 0) notice('nobody watched this call: of its way nothing is known');
    sayMissing(page.missing);
    return 'done';
  });
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
    const said = Object.entries(more).filter(([key]) => ['server', 'tool', 'reason', 'outcome', 'running', 'waiting', 'asks', 'ms', 'payload'].includes(key)).map(([key, value]) => `${key} ${typeof value === 'string' ? printable(value, 200) : JSON.stringify(value)}`);
    return `  ${`${after < 0 ? '~' : ''}${after.toFixed(1)}`.padStart(9)} ms  |${bar}|  ${from.padEnd(7)} ${what.padEnd(15)} ${printable(name).slice(0, 16)}  ${said.join(', ')}`;
  });
}

export function sayMissing(missing: Missing): void {
  if (missing.length > 0) notice(`not answering: ${missing.map(({ process: name, role }) => `${name} (${role})`).join(', ')}`);
}
