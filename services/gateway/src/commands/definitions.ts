/** What servers say of themselves that is not as it was approved: looked at, and approved. */
import type { ServerDefinitions } from '@omnibus/backend';
import { printable } from '@omnibus/protocol';
import { createInterface } from 'node:readline/promises';
import { alignColumns } from '../table.ts';
import { askAdmin, told, type AskOptions } from './administer.ts';

export interface DefinitionsOptions extends AskOptions {
  readonly json?: boolean;
}

export interface ApproveOptions extends AskOptions {
  /** Without being asked. */
  readonly yes?: boolean;
}

type Deviation = ServerDefinitions['deviations'][number];

/** What is approved in one request: a body of the admin port has 16 KB. */
const perRequest = 400;

export async function listDefinitions({ json = false, ...who }: DefinitionsOptions): Promise<void> {
  await told(async () => {
    const servers = await read(who);
    if (json) {
      process.stdout.write(`${JSON.stringify(servers, null, 2)}\n`);
      return;
    }
    const rows = servers.flatMap(({ server, mode, problem, deviations }) => (deviations.length === 0
      ? [[server, mode, '-', '-', problem ?? 'as approved', '']]
      : deviations.map((each) => [server, mode, each.kind, each.name, stateOf(mode, each), each.risks.join('; ')])));
    process.stdout.write(rows.length === 0 ? 'no server of this process has `definitions: pin` or `warn`\n' : `${alignColumns([['SERVER', 'MODE', 'KIND', 'NAME', 'STATE', 'LOOK AT'], ...rows])}\n`);
  });
}

export async function showDifferences(server: string, names: readonly string[], { json = false, ...who }: DefinitionsOptions): Promise<void> {
  await told(async () => {
    const { deviations } = await one(who, server);
    const chosen = choose(deviations, names);
    process.stdout.write(json ? `${JSON.stringify(chosen, null, 2)}\n` : chosen.length === 0 ? `server ${server} has nothing to approve\n` : `${chosen.map(describe).join('\n\n')}\n`);
  });
}

/** Approves what it shows: of what the server says by the time of the answer, nothing else. */
export async function approveDefinitions(server: string, names: readonly string[], { yes = false, ...who }: ApproveOptions): Promise<void> {
  await told(async () => {
    const { deviations } = await one(who, server);
    const chosen = choose(deviations, names);
    if (chosen.length === 0) {
      process.stdout.write(`server ${server} has nothing to approve\n`);
      return;
    }
    process.stdout.write(`${chosen.map(describe).join('\n\n')}\n\n`);
    if (!yes && !(await isAgreed(`Approve ${chosen.length === 1 ? 'this' : `these ${chosen.length}`}? [y/N] `))) throw new Error('nothing was approved');
    const digests = [...new Set(chosen.map(({ digest }) => digest))];
    for (let from = 0; from < digests.length; from += perRequest) await askAdmin(who, 'POST', '/definitions', { server, approve: digests.slice(from, from + perRequest) });
    process.stdout.write(`${chosen.length} approved\n`);
  });
}

async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new Error('there is no terminal to ask on; --yes approves what is shown without asking');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

async function read(who: AskOptions): Promise<readonly ServerDefinitions[]> {
  return JSON.parse((await askAdmin(who, 'GET', '/definitions')).text) as readonly ServerDefinitions[];
}

/** @throws {Error} */
async function one(who: AskOptions, server: string): Promise<ServerDefinitions> {
  const servers = await read(who);
  const found = servers.find((each) => each.server === server);
  if (found === undefined) throw new Error(`there is no server ${JSON.stringify(server)} with \`definitions: pin\` or \`warn\` in this process; there are: ${servers.map((each) => each.server).join(', ') || 'none'}`);
  if (found.problem !== undefined) throw new Error(found.problem);
  return found;
}

/** @throws {Error} for a name that there is nothing of. */
function choose(deviations: readonly Deviation[], names: readonly string[]): readonly Deviation[] {
  const called = ({ kind, name }: Deviation): string => (kind === 'instructions' ? 'instructions' : name);
  const missing = names.filter((name) => !deviations.some((each) => called(each) === name));
  if (missing.length > 0) throw new Error(`there is nothing to approve for ${missing.map((name) => JSON.stringify(name)).join(', ')}; write the names that the server itself gives`);
  return names.length === 0 ? deviations : deviations.filter((each) => names.includes(called(each)));
}

function stateOf(mode: 'pin' | 'warn', { why, isHeld }: Deviation): string {
  return `${why}, ${isHeld ? 'held back' : mode === 'pin' ? 'approved texts are shown' : 'shown'}`;
}

function describe({ kind, name, why, risks, differences }: Deviation): string {
  const lines = differences.flatMap(({ at, before, after }) => [
    `  ${printable(at)}`, ...(before === undefined ? [] : [`    - ${printable(before, shownLength)}`]), ...(after === undefined ? [] : [`    + ${printable(after, shownLength)}`]),
  ]);
  return [`${kind === 'instructions' ? 'instructions' : `${kind} ${printable(name)}`}: ${why}`, ...risks.map((risk) => `  ! ${printable(risk)}`), ...lines].join('\n');
}

const shownLength = 2_000;
