/** Lists, shows and decides calls that wait for approvers. */
import type { Approval } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerEither, answerJson, answerList, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { confirm, isInteractive, type InputOptions } from '../output/terminal.ts';
import type { AskOptions } from './admin-port.ts';
import { askApi, queryOf } from './api.ts';
import { durationOf } from './durations.ts';

export interface ApprovalsOptions extends AskOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

export interface DecideOptions extends AskOptions, InputOptions {
  readonly json?: boolean;
  /** Approves without asking for confirmation. */
  readonly yes?: boolean;
  readonly reason?: string;
  /** The time for which further calls are approved too. */
  readonly for?: string;
}

export function listApprovals({ all = false, json = false, ...who }: ApprovalsOptions): Promise<void> {
  return runCommand(json, async () => {
    const found = await read(who, all);
    const rows = found.map((each) => [
      each.id,
      each.state,
      targetOf(each),
      whoOf(each),
      new Date(each.until).toISOString(),
      each.by ?? '',
    ]);
    answerList(json, found, { head: ['ID', 'STATE', 'WHAT', 'WHO', 'UNTIL', 'BY'], rows, none: 'no call waits' });
  });
}

export function showApproval(id: string, { json = false, ...who }: ApprovalsOptions): Promise<void> {
  return runCommand(json, async () => {
    const found = await one(who, id);
    answerEither(json, found, `${describe(found)}\n`);
  });
}

/** Shows the call and decides it; the digest that is sent binds the decision to the call as shown. */
export function decideApproval(
  id: string,
  approve: boolean,
  { yes = false, reason, for: time, json = false, input = true, ...who }: DecideOptions,
): Promise<void> {
  return runCommand(json, async () => {
    const forMs = durationOf('--for', time);
    const found = await one(who, id);
    if (!json) notice(`${describe(found)}\n`);
    const question =
      time === undefined ? 'Approve this call?' : `Approve this call, and further ones like it for ${time}?`;
    if (!yes) await needConsent(question, { input });
    const { digest } = found;
    const path = `/approvals/${encodeURIComponent(id)}`;
    const { state } = await askApi(who, 'decide', path, 'POST', { digest, approve, reason, forMs });
    const more = (found.quorum ?? 1) - (found.votes?.length ?? 0) - 1;
    if (json) answerJson({ id, state });
    else answer(state === 'waiting' ? `${id} is approved by you, and waits for ${more} more\n` : `${id} is ${state}\n`);
  });
}

/** Takes back an approval of a call that waits for further approvers. */
export function withdrawVote(id: string, { json = false, ...who }: ApprovalsOptions): Promise<void> {
  return runCommand(json, async () => {
    await askApi(who, 'withdrawVote', `/approvals/${encodeURIComponent(id)}`, 'DELETE');
    answerEither(json, { id, state: 'waiting' }, `your approval of ${printable(id)} is taken back\n`);
  });
}

/** @throws {CommandProblem} unless the user confirms. */
export async function needConsent(question: string, options: InputOptions): Promise<void> {
  if (!isInteractive(options))
    throw new CommandProblem('unanswered', 'nothing was approved, since there is no terminal to ask on', {
      advice: 'With --yes what is shown is approved without asking.',
    });
  if (!(await confirm(question, false))) throw new CommandProblem('interrupted', 'nothing was approved');
}

/** Calls, the oldest first. @param isAll those that do not wait any more too. */
async function read(who: AskOptions, isAll: boolean): Promise<readonly Approval[]> {
  const found: Approval[] = [];
  let cursor: string | undefined;
  do {
    const page = await askApi(
      who,
      'approvals',
      `/approvals${queryOf({ state: isAll ? undefined : 'waiting', cursor })}`,
    );
    found.push(...page.approvals);
    cursor = page.next;
  } while (cursor !== undefined);
  return found.toSorted((first, second) => first.at - second.at);
}

/** @throws {CommandProblem} */
async function one(who: AskOptions, id: string): Promise<Approval> {
  return (await askApi(who, 'approval', `/approvals/${encodeURIComponent(id)}`)).approval;
}

/** What waits, written as in rules. */
const targetOf = ({ kind, server, tool }: Approval): string =>
  `${kind === undefined ? '' : `${kind}:`}${server}/${tool}`;

const whoOf = ({ who: [first, ...actors], principal }: Approval): string =>
  `${first ?? principal}${actors.length === 0 ? '' : ` by ${actors.join(', ')}`}`;

/** The record as lines for a terminal; each value is one line without control characters, since callers chose some of them. */
function describe(record: Approval): string {
  const {
    id,
    state,
    server,
    kind = 'tool',
    tool,
    rule,
    because,
    until,
    digest,
    arguments: args,
    tenant,
    client,
    approvers,
    by,
    reason,
    lasts,
    quorum,
    votes = [],
  } = record;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['call', `${id} (${state}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`})`],
    [kind, `${server}/${tool}`],
    ['who', whoOf(record)],
    ['tenant', tenant],
    ['client', client],
    ['rule', `${rule}${because === undefined ? '' : `: ${because}`}`],
    ['approvers', approvers?.join(', ')],
    [
      'approvals',
      quorum === undefined
        ? undefined
        : `${votes.length} of ${quorum}${votes.length === 0 ? '' : `: ${votes.map((vote) => vote.by).join(', ')}`}`,
    ],
    ['until', new Date(until).toISOString()],
    [
      '--for',
      lasts === undefined ? undefined : `further calls can be approved too, for at most ${Math.floor(lasts / 60_000)}m`,
    ],
    ['sha256', digest],
    ['arguments', args],
  ];
  return lines
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.padEnd(10)} ${printable(value ?? '', Infinity)}`)
    .join('\n');
}
