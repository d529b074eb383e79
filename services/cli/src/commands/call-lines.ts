/** A call as one line: cut to the width of a terminal, or whole with tabs in a pipe. */
import type { Call, CallState } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { fitLine, paint } from '../output/terminal.ts';

const marks: Readonly<Record<string, string>> = {
  result: '✓',
  toolError: '!',
  error: '✗',
  fault: '✗',
  timeout: '✗',
  cancelled: '○',
};

/** The state of a running call; each has a sign next to its words. */
const states: Readonly<Record<CallState, readonly [sign: string, words: string]>> = {
  running: ['◐', 'running'],
  queued: ['◌', 'waits for a place'],
  asked: ['?', 'waits for its client'],
  approval: ['?', 'waits for an approval'],
  ended: [' ', 'answered'],
};

const whatOf = ({ server, tool, name, method }: Call): string =>
  server === undefined ? (name ?? method) : `${server}/${tool ?? name ?? method}`;
const isRunning = ({ state, outcome }: Call): boolean =>
  outcome === undefined && state !== undefined && state !== 'ended';

/** @returns a line with its line break. */
export function lineOf(call: Call): string {
  const { tag, at, client, outcome, reason, problem, ms, state = 'ended' } = call;
  const time = new Date(at).toISOString();
  const took = ms !== undefined ? `${ms} ms` : isRunning(call) ? ageOf(call) : '';
  const cells = [
    client ?? '-',
    whatOf(call),
    outcome ?? (isRunning(call) ? state : 'answered'),
    took,
    [reason, problem].filter((text) => text !== undefined).join(': '),
  ].map((text) => printable(text));
  if (!process.stdout.isTTY) return `${[time, tag, ...cells].join('\t')}\n`;
  if (isRunning(call)) return `${fitLine(placeOf(call))}\n`;
  const mark = marks[outcome ?? 'result'] ?? ' ';
  const line = fitLine(
    `${time.slice(11, 23)}  ${(cells[0] ?? '').padEnd(12)} ${mark} ${(cells[1] ?? '').padEnd(30)} ${(cells[3] ?? '').padStart(10)}  ${cells[4] ?? ''}  ${tag.slice(0, 12)}`,
  );
  return `${outcome === undefined || outcome === 'result' ? line : paint(outcome === 'cancelled' ? 'dim' : 'red', line)}\n`;
}

/** A running call: its state and duration. */
export function placeOf(call: Call): string {
  const { tag, at, client, state = 'running', progress } = call;
  const [sign, words] = states[state];
  const done =
    progress === undefined ? '' : ` (${progress.done}${progress.total === undefined ? '' : ` of ${progress.total}`})`;
  return `${new Date(at).toISOString().slice(11, 23)}  ${printable(client ?? '-').padEnd(12)} ${sign} ${printable(whatOf(call)).padEnd(30)} ${ageOf(call).padStart(10)}  ${words}${done}  ${tag.slice(0, 12)}`;
}

/** Clocks of two machines differ: an age below zero appears as zero. */
function ageOf({ at }: Call): string {
  return `${(Math.max(0, Date.now() - at) / 1_000).toFixed(1)} s`;
}
