/** Calls that wait for approvers: looked at, and decided. */
import { printable, type ApprovalRecord } from '@omnibus/protocol';
import { createInterface } from 'node:readline/promises';
import { alignColumns } from '../table.ts';
import { askAdmin, told, type AskOptions } from './administer.ts';

export interface ApprovalsOptions extends AskOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

export interface DecideOptions extends AskOptions {
  /** Without being asked. */
  readonly yes?: boolean;
  readonly reason?: string;
}

export async function listApprovals({ all = false, json = false, ...who }: ApprovalsOptions): Promise<void> {
  await told(async () => {
    const found = (await read(who)).filter(({ state }) => all || state === 'waiting');
    if (json) {
      process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      return;
    }
    const rows = found.map((each) => [each.id, each.state, `${each.server}/${each.tool}`, whoOf(each), new Date(each.until).toISOString(), each.by ?? '']);
    process.stdout.write(rows.length === 0 ? 'no call waits\n' : `${alignColumns([['ID', 'STATE', 'TOOL', 'WHO', 'UNTIL', 'BY'], ...rows])}\n`);
  });
}

export async function showApproval(id: string, { json = false, ...who }: ApprovalsOptions): Promise<void> {
  await told(async () => {
    const found = await one(who, id);
    process.stdout.write(`${json ? JSON.stringify(found, null, 2) : describe(found)}\n`);
  });
}

/** Decides about the call as it was shown, and about no other. */
export async function decideApproval(id: string, approve: boolean, { yes = false, reason, ...who }: DecideOptions): Promise<void> {
  await told(async () => {
    const found = await one(who, id);
    process.stdout.write(`${describe(found)}\n\n`);
    if (!yes && !(await isAgreed('Approve this call? [y/N] '))) throw new Error('nothing was approved');
    process.stdout.write((await askAdmin(who, 'POST', '/approvals', { id, digest: found.digest, approve, reason })).text);
  });
}

async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new Error('nobody can be asked here: with --yes what is shown is approved');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

async function read(who: AskOptions): Promise<readonly ApprovalRecord[]> {
  return JSON.parse((await askAdmin(who, 'GET', '/approvals')).text) as readonly ApprovalRecord[];
}

/** @throws {Error} */
async function one(who: AskOptions, id: string): Promise<ApprovalRecord> {
  const found = (await read(who)).find((each) => each.id === id);
  if (found === undefined) throw new Error(`no call ${JSON.stringify(id)} waits that you may see; omnibus approvals list shows those that do`);
  return found;
}

const whoOf = ({ who: [first, ...actors], principal }: ApprovalRecord): string => `${first ?? principal}${actors.length === 0 ? '' : ` by ${actors.join(', ')}`}`;

/** What of it comes from a caller is one line each, without control characters. */
function describe(record: ApprovalRecord): string {
  const { id, state, server, tool, rule, because, until, digest, hidden, arguments: args, tenant, client, approvers, by, reason } = record;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['call', `${id} (${state}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`})`], ['tool', `${server}/${tool}`], ['who', whoOf(record)], ['tenant', tenant], ['client', client],
    ['rule', `${rule}${because === undefined ? '' : `: ${because}`}`], ['approvers', approvers?.join(', ')], ['until', new Date(until).toISOString()], ['sha256', digest],
    ['arguments', `${args}${hidden === undefined ? '' : ` (${hidden} more characters are not shown)`}`],
  ];
  return lines.filter(([, value]) => value !== undefined).map(([name, value]) => `${name.padEnd(10)} ${printable(value ?? '', maxLine)}`).join('\n');
}

/** Characters of a line: arguments are cut before. */
const maxLine = 10_000;
