/** Shows the processes of a running gateway and its servers. */
import type { Processes, ServerRow, Servers } from '@omnibus/admin-api';
import { printable, unfitWords, problemWords } from '@omnibus/protocol';
import { answerEither, notice, runCommand } from '../output/outcome.ts';
import { fitTable } from '../output/table.ts';
import { askApi, type ApiOptions } from './api.ts';

type Seen = Pick<Processes, 'processes' | 'missing'> & Pick<Servers, 'servers'>;

/** Shows the processes of a running gateway, as one of them reports it after asking all. The exit status is 1 when one does not answer, or reports that it cannot serve. */
export function status(options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const [seen, { file, rejected }] = await Promise.all([
      look(options),
      askApi(options, 'configuration', '/configuration'),
    ]);
    const { processes, missing } = seen;
    answerEither(options.json, seen, `${print(seen)}\n`);
    if (rejected !== undefined)
      notice(
        printable(`${file} is not applied, and what was in force before stays: ${rejected.problems.join('; ')}`, 2_000),
      );
    return missing.length > 0 || processes.some(({ problems }) => problems.length > 0) ? 'other' : 'done';
  });
}

async function look(options: ApiOptions): Promise<Seen> {
  const [{ processes, missing }, { servers }] = await Promise.all([
    askApi(options, 'processes', '/processes'),
    askApi(options, 'servers', '/servers'),
  ]);
  return { processes, servers, missing };
}

function print({ processes, servers, missing }: Seen): string {
  const rows = processes.map(({ process: name, role, startedAt, bus, sessions, problems, version }) => [
    name,
    role,
    version,
    uptimeOf(Date.now() - Date.parse(startedAt)),
    bus.isConnected ? bus.kind : 'not connected',
    sessions === undefined ? '-' : String(Object.values(sessions).reduce((sum, count) => sum + count, 0)),
    problems.length === 0 ? 'ready' : problems.join('; '),
  ]);
  const gone = missing.map(({ process: name, role }) => [name, role, '-', '-', '-', '-', 'does not answer']);
  const ofServers = servers.map((each) => [
    each.name,
    each.state,
    each.revision ?? '-',
    String(each.tools),
    String(each.prompts),
    String(each.resources),
    String(each.places.length),
    each.account ?? '-',
    printable(
      problemOf(each) ??
        [pauseWords(each), signInWords(each), leftOutWords(each)].filter((words) => words !== '').join('; '),
    ),
  ]);
  const columns = process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
  return [
    fitTable([['PROCESS', 'ROLE', 'VERSION', 'UPTIME', 'BUS', 'SESSIONS', 'STATE'], ...rows, ...gone], columns),
    ...(ofServers.length === 0
      ? []
      : [
          '',
          fitTable(
            [
              ['SERVER', 'STATE', 'REVISION', 'TOOLS', 'PROMPTS', 'RESOURCES', 'PROCESSES', 'ACCOUNT', 'PROBLEM'],
              ...ofServers,
            ],
            columns,
          ),
        ]),
  ].join('\n');
}

function problemOf({ state, problem, lastWords }: ServerRow): string | undefined {
  return state === 'up' ? problem : problemWords(problem, lastWords);
}

/** The largest two of days, hours, minutes and seconds. */
function uptimeOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = (
    [
      ['d', 86_400],
      ['h', 3_600],
      ['m', 60],
      ['s', 1],
    ] as const
  ).reduce<{ readonly left: number; readonly words: readonly string[] }>(
    ({ left, words }, [unit, size]) => ({
      left: left % size,
      words: left >= size ? [...words, `${Math.floor(left / size)}${unit}`] : words,
    }),
    { left: seconds, words: [] },
  );
  return parts.words.slice(0, 2).join(' ') || '0s';
}

/** A note that users must sign in first; empty if none must. */
function signInWords({ signIns }: ServerRow): string {
  return signIns === undefined ? '' : `wants a sign-in of ${signIns === 1 ? '1 user' : `${signIns} users`}`;
}

/** Left out entries that would break clients' lists, with reasons. */
function leftOutWords({ leftOut, unfit = [] }: ServerRow): string {
  const [first] = unfit;
  return leftOut === 0 ? '' : `${leftOut} left out${first === undefined ? '' : `: ${unfitWords(first)}`}`;
}

/** The author, end and reason of a pause; empty for one that is not paused. */
function pauseWords({ paused }: ServerRow): string {
  if (paused === undefined) return '';
  return `paused by ${paused.by}${paused.until === undefined ? '' : ` until ${paused.until}`}${paused.because === undefined ? '' : `: ${paused.because}`}`;
}
