/** Findings of the overview: one line for each cause, the worst first. */
import type { Processes, Servers } from '@omnibus/admin-api';
import { expect, it } from 'vitest';
import { findingsOf } from './findings.ts';

type Row = Servers['servers'][number];

const rowOf = (name: string, more: Partial<Row>): Row =>
  ({ name, state: 'up', leftOut: 0, held: 0, places: [], ...more }) as unknown as Row;

function found(rows: readonly Row[]): string[] {
  return findingsOf({
    processes: { processes: [], missing: [] } as unknown as Processes,
    servers: { servers: rows } as unknown as Servers,
    configuration: { rejected: undefined, restart: [], file: 'omnibus.yaml' },
  }).map(({ severity, text, advice = '', link = '' }) => `${severity} | ${text} | ${advice} | ${link}`);
}

it('servers that are down for one reason are one finding, which names them', () => {
  const down = Array.from({ length: 29 }, (_, index) =>
    rowOf(`s${index}`, { state: 'down', problem: `http://127.0.0.1:${9000 + index}/mcp refuses connections` }),
  );
  const rows = [...down, rowOf('other', { state: 'down', problem: 'its program ended: cannot find module xyz' })];
  const lines = found([...rows, rowOf('pinned', { held: 2 }), rowOf('odd', { leftOut: 1 })]);
  expect(lines).toEqual([
    expect.stringMatching(
      /^error \| 29 servers are down: refuses connections \| s0, s1, .*s9 and 19 more \| #\/servers$/,
    ),
    'error | server other is down: its program ended: cannot find module xyz |  | #/servers/other',
    expect.stringMatching(/^warning \| 2 of what server pinned offers wait to be approved .* \| #\/trust\/pinned$/),
    'note | 1 of what server odd offers cannot be shown to clients |  | #/catalogue',
  ]);
});

it('servers whose programs cannot be started are one finding, whatever the programs are called', () => {
  const rows = Array.from({ length: 33 }, (_, index) =>
    rowOf(`s${index}`, {
      state: 'down',
      problem: `cannot start "/opt/program-${index}": there is no such program`,
      advice: `Is "/opt/program-${index}" installed?`,
    }),
  );
  expect(found(rows)).toEqual([
    expect.stringMatching(/^error \| 33 servers are down: cannot start "…": there is no such program \| s0, s1, /),
  ]);
  expect(found(rows.slice(0, 1))).toEqual([
    'error | server s0 is down: cannot start "/opt/program-0": there is no such program | Is "/opt/program-0" installed? | #/servers/s0',
  ]);
});

it('quoted words of a reason stay, and two reasons that differ in them are two findings', () => {
  const rows = ['invalid_token', 'unknown tenant'].flatMap((reason) =>
    Array.from({ length: 4 }, (_, index) =>
      rowOf(`${reason.slice(0, 2)}${index}`, { state: 'down', problem: 'it ended', lastWords: `{"msg":"${reason}"}` }),
    ),
  );
  expect(found(rows)).toEqual([
    expect.stringContaining('4 servers are down: it ended: {"msg":"invalid_token"} |'),
    expect.stringContaining('4 servers are down: it ended: {"msg":"unknown tenant"} |'),
  ]);
});

it('a crashed program is named with its last words, and with the time since the fault', () => {
  const crashed = (name: string, since: string): Row =>
    rowOf(name, {
      state: 'down',
      problem: 'its program ended with code 1',
      lastWords: 'Error: API_KEY is missing',
      since,
    });
  const of = (names: readonly string[]) =>
    findingsOf({
      processes: { processes: [], missing: [] } as unknown as Processes,
      servers: {
        servers: names.map((name, at) => crashed(name, `2026-01-0${9 - at}T00:00:00Z`)),
      } as unknown as Servers,
      configuration: { rejected: undefined, restart: [], file: 'omnibus.yaml' },
    }).map(({ text, since }) => [text, since]);
  expect(of(['a'])).toEqual([
    ['server a is down: its program ended with code 1: Error: API_KEY is missing', '2026-01-09T00:00:00Z'],
  ]);
  expect(of(['a', 'b', 'c', 'd'])).toEqual([
    ['4 servers are down: its program ended with code 1: Error: API_KEY is missing', '2026-01-06T00:00:00Z'],
  ]);
});

it('what waits for a decision comes before other warnings', () => {
  const lines = found([rowOf('lost', { state: 'unknown' }), rowOf('pinned', { held: 1 })]);
  expect(lines.map((line) => line.split(' | ')[1])).toEqual([
    '1 of what server pinned offers wait to be approved',
    'no backend process reports server lost',
  ]);
});

it('three servers with one trouble are three findings, each with its own address', () => {
  const lines = found(['a', 'b', 'c'].map((name) => rowOf(name, { state: 'down', problem: 'connection refused' })));
  expect(lines.map((line) => line.split(' | ').at(-1))).toEqual(['#/servers/a', '#/servers/b', '#/servers/c']);
});
