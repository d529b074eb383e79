/** Lists, shows and approves differences between the definitions of servers and those that were approved. */
import type { Deviation, ServerDefinitions } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerEither, answerJson, answerList, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import type { InputOptions } from '../output/terminal.ts';
import type { AskOptions } from './admin-port.ts';
import { askApi } from './api.ts';
import { needConsent } from './approvals.ts';

export interface DefinitionsOptions extends AskOptions {
  readonly json?: boolean;
}

export interface ApproveOptions extends AskOptions, InputOptions {
  readonly json?: boolean;
  /** Approves without asking for confirmation. */
  readonly yes?: boolean;
}

/** Digests in one request, so that its body stays below the 16 KB that the admin port reads. */
const perRequest = 300;

export function listDefinitions({ json = false, ...who }: DefinitionsOptions): Promise<void> {
  return runCommand(json, async () => {
    const servers = await read(who);
    const rows = servers.flatMap(({ server, mode, problem, deviations, signs }) => [
      ...(deviations.length === 0 && mode !== 'off' ? [[server, mode, '-', '-', problem ?? 'as approved', '']] : []),
      ...deviations.map((each) => [server, mode, each.kind, each.name, stateOf(mode, each), each.risks.join('; ')]),
      ...signs.map(({ name, kind, text }) => [server, mode, 'tools', name, kind, text]),
    ]);
    const head = ['SERVER', 'MODE', 'KIND', 'NAME', 'STATE', 'LOOK AT'];
    answerList(json, servers, { head, rows, none: 'no server has `definitions: pin` or `warn`' });
  });
}

export function showDifferences(
  server: string,
  names: readonly string[],
  { json = false, ...who }: DefinitionsOptions,
): Promise<void> {
  return runCommand(json, async () => {
    const { deviations } = await one(who, server);
    const chosen = choose(deviations, names);
    answerEither(
      json,
      chosen,
      chosen.length === 0 ? `server ${server} has nothing to approve\n` : `${chosen.map(describe).join('\n\n')}\n`,
    );
  });
}

/** Shows differences and approves exactly these, by their digests, even if the server has changed again meanwhile. */
export function approveDefinitions(
  server: string,
  names: readonly string[],
  { yes = false, json = false, input = true, ...who }: ApproveOptions,
): Promise<void> {
  return runCommand(json, async () => {
    const { deviations } = await one(who, server);
    const chosen = choose(deviations, names);
    if (chosen.length === 0) {
      answerEither(json, { server, approved: 0 }, `server ${server} has nothing to approve\n`);
      return 'done';
    }
    if (!json) notice(`${chosen.map(describe).join('\n\n')}\n`);
    if (!yes) await needConsent(`Approve ${chosen.length === 1 ? 'this' : `these ${chosen.length}`}?`, { input });
    const digests = [...new Set(chosen.map(({ digest }) => digest))];
    for (let from = 0; from < digests.length; from += perRequest) {
      const approve = digests.slice(from, from + perRequest);
      await askApi(who, 'approve', `/definitions/${encodeURIComponent(server)}`, 'POST', { approve });
    }
    if (json) answerJson({ server, approved: chosen.length });
    else answer(`${chosen.length} approved\n`);
  });
}

/** Servers with compared definitions, or with something suspicious; the differences of each are in an answer of its own. */
async function read(who: AskOptions): Promise<readonly ServerDefinitions[]> {
  const { servers } = await askApi(who, 'definitions', '/definitions');
  const shown = servers.filter(({ mode, signs }) => mode !== 'off' || signs.length > 0);
  return Promise.all(
    shown.map(async (each) =>
      each.deviations.length === 0
        ? each
        : (await askApi(who, 'serverDefinitions', `/definitions/${encodeURIComponent(each.server)}`)).server,
    ),
  );
}

/** @throws {CommandProblem} */
async function one(who: AskOptions, server: string): Promise<ServerDefinitions> {
  const servers = await read(who);
  const found = servers.find((each) => each.server === server && each.mode !== 'off');
  if (found === undefined)
    throw new CommandProblem(
      'unknown',
      `there is no server ${JSON.stringify(server)} with \`definitions: pin\` or \`warn\`; there are: ${
        servers
          .filter(({ mode }) => mode !== 'off')
          .map((each) => each.server)
          .join(', ') || 'none'
      }`,
    );
  if (found.problem !== undefined) throw new CommandProblem('unreachable', found.problem);
  return found;
}

/** The differences of the given names, or all. @throws {CommandProblem} for a name without a difference. */
function choose(deviations: readonly Deviation[], names: readonly string[]): readonly Deviation[] {
  const called = ({ kind, name }: Deviation): string => (kind === 'instructions' ? 'instructions' : name);
  const missing = names.filter((name) => !deviations.some((each) => called(each) === name));
  if (missing.length > 0)
    throw new CommandProblem(
      'unknown',
      `there is nothing to approve for ${missing.map((name) => JSON.stringify(name)).join(', ')}; write the names that the server itself gives`,
    );
  return names.length === 0 ? deviations : deviations.filter((each) => names.includes(called(each)));
}

function stateOf(mode: ServerDefinitions['mode'], { why, isHeld }: Deviation): string {
  return `${why}, ${isHeld ? 'held back' : mode === 'pin' ? 'approved texts are shown' : 'shown'}`;
}

function describe({ kind, name, why, risks, differences = [], notShown = 0 }: Deviation): string {
  const lines = differences.flatMap(({ at, before, after }) => [
    `  ${printable(at)}`,
    ...(before === undefined ? [] : [`    - ${printable(before, shownLength)}`]),
    ...(after === undefined ? [] : [`    + ${printable(after, shownLength)}`]),
  ]);
  return [
    `${kind === 'instructions' ? 'instructions' : `${kind} ${printable(name)}`}: ${why}`,
    ...risks.map((risk) => `  ! ${printable(risk)}`),
    ...lines,
    ...(notShown === 0 ? [] : [`  (${notShown} more differences are not shown)`]),
  ].join('\n');
}

const shownLength = 2_000;
