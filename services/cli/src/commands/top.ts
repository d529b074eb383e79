/** Shows servers and tools by how much they are called: once in a pipe, refreshed on a terminal. */
import type { Servers, Summary } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { counted } from '../output/counted.ts';
import { alignColumns } from '../output/table.ts';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { fitLine, isInteractive, paint } from '../output/terminal.ts';
import { askApi, type ApiOptions } from './api.ts';

export interface TopOptions extends ApiOptions {
  readonly once?: boolean;
}

const lookMs = 2_000;
const maxTools = 15;
const sortings = ['calls', 'failed', 'p95'] as const;
type Sorting = (typeof sortings)[number];

interface Seen {
  readonly at: number;
  readonly calls: ReadonlyMap<string, number>;
}

export function showTop(options: TopOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const isOnce = options.once === true || options.json === true || !process.stdout.isTTY || !isInteractive();
    const [servers, summary] = await look(options);
    if (options.json === true)
      answerJson({ servers: servers.servers, tools: summary.tools, all: summary.all, missing: summary.missing });
    else if (isOnce) answer(`${linesOf(servers, summary, undefined, 'calls').join('\n')}\n`);
    else await watch(options);
  });
}

async function look(options: TopOptions): Promise<readonly [Servers, Summary]> {
  return Promise.all([askApi(options, 'servers', '/servers'), askApi(options, 'metrics', '/metrics/summary')]);
}

/** Refreshes the screen until `q` is typed; it uses the alternate screen, so that the former text is there again afterwards. */
async function watch(options: TopOptions): Promise<void> {
  let sorting: Sorting = 'calls';
  const ended = new AbortController();
  let wake = (): void => undefined;
  const typed = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      if (key === 's') sorting = sortings[(sortings.indexOf(sorting) + 1) % sortings.length] as Sorting;
      if (key === 'q' || key === '\u0003') ended.abort();
    }
    wake();
  };
  const { stdin, stdout } = process;
  stdin.setRawMode(true).on('data', typed).resume();
  stdout.write('\u001B[?1049h\u001B[?25l');
  try {
    let before: Seen | undefined;
    while (!ended.signal.aborted) {
      const [servers, summary] = await look(options);
      const lines = linesOf(servers, summary, before, sorting)
        .slice(0, (stdout.rows || 24) - 2)
        .map((line, index) => (index === 0 ? paint('bold', fitLine(line)) : fitLine(line)));
      stdout.write(
        `\u001B[H${lines.map((line) => `${line}\u001B[K`).join('\n')}\n\u001B[K\n\u001B[Ks: sorted by ${sorting}   q: end\u001B[J`,
      );
      before = { at: Date.now(), calls: new Map(summary.servers.map(({ server, rates }) => [server, rates.calls])) };
      if (!ended.signal.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, lookMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
    }
  } finally {
    stdout.write('\u001B[?25h\u001B[?1049l');
    stdin.off('data', typed).setRawMode(false).pause();
  }
}

function linesOf(
  { servers, missing }: Servers,
  { tools, all }: Summary,
  before: Seen | undefined,
  sorting: Sorting,
): string[] {
  const seconds = before === undefined ? undefined : Math.max(0.001, (Date.now() - before.at) / 1_000);
  const perSecond = (name: string, calls: number): string =>
    seconds === undefined ? '-' : (Math.max(0, calls - (before?.calls.get(name) ?? calls)) / seconds).toFixed(1);
  const weight = (rates: Summary['all'] | undefined): number =>
    sorting === 'p95' ? (rates?.p95 ?? rates?.mean ?? 0) : (rates?.[sorting] ?? 0);
  const ms = (value: number | undefined): string =>
    value === undefined ? '-' : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  const rows = servers
    .toSorted((one, other) => weight(other.rates) - weight(one.rates))
    .map(({ name, state, running, waiting, rates, problem }) => [
      printable(name),
      state,
      perSecond(name, rates?.calls ?? 0),
      String(rates?.calls ?? 0),
      String(rates?.failed ?? 0),
      ms(rates?.p50),
      ms(rates?.p95),
      `${running}/${waiting}`,
      state === 'up' ? '' : printable(problem ?? '', 100),
    ]);
  const ofTools = tools
    .toSorted((one, other) => weight(other.rates) - weight(one.rates))
    .slice(0, maxTools)
    .map(({ server, tool, rates }) => [
      printable(`${server}/${tool}`),
      String(rates.calls),
      String(rates.failed),
      ms(rates.mean),
    ]);
  return [
    `${counted(all.calls, 'call')}, ${all.failed} failed, p95 ${ms(all.p95)}${missing.length === 0 ? '' : `; not answering: ${missing.map(({ process: name }) => name).join(', ')}`}`,
    '',
    ...alignColumns([
      ['SERVER', 'STATE', 'CALLS/S', 'CALLS', 'FAILED', 'P50', 'P95', 'RUN/WAIT', 'PROBLEM'],
      ...rows,
    ]).split('\n'),
    ...(ofTools.length === 0
      ? []
      : ['', ...alignColumns([['TOOL', 'CALLS', 'FAILED', 'MEAN'], ...ofTools]).split('\n')]),
  ];
}
