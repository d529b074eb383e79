/** The answers of a process that holds calls to questions about labels of conversations, and to acts that clear them. */
import { ConversationBoard, LabelProblem, type Bus } from '@omnibus/bus';
import { approvalObstacle } from '@omnibus/identity';
import { usesLabels } from '@omnibus/policy';
import { printable, type ConversationRecord } from '@omnibus/protocol';
import { z } from 'zod';
import { sentApprover } from '../approval-rules.ts';
import { mayDo, type Administrator } from '../roles.ts';
import { isSigned } from './decision-seal.ts';
import type { GrantDeskOptions } from './grant-desk.ts';
import type { Question } from './process-desk.ts';

/** Conversations of one answer: a message of the bus has at most a megabyte. */
const maxListed = 500;
/** Names of one record in an answer. */
const maxNames = 20;

/** A person, as processes send it to each other. */
const person = { ...sentApprover, tenant: z.string().optional() };
export type LabelPerson = Pick<Administrator, 'roles'> & Partial<Pick<Administrator, 'facts' | 'tenant'>>;

const filter = {
  user: z.string().optional(),
  client: z.string().optional(),
  conversation: z.string().optional(),
  session: z.string().optional(),
  label: z.string().optional(),
};
const asked = z.object({ of: z.object(person), ...filter });
type Filter = Omit<z.output<typeof asked>, 'of'>;
const toClear = z.object({ id: z.string(), label: z.string(), ...person });

/** One record, as processes send it to each other; a member that this version does not know is left out. */
export const sentConversation = z.object({
  id: z.string(),
  kind: z.enum(['session', 'caller']),
  session: z.string().optional(),
  principal: z.string(),
  who: z.array(z.string()).default([]),
  tenant: z.string().optional(),
  client: z.string().optional(),
  endpoint: z.string(),
  labels: z.array(
    z.object({ label: z.string(), server: z.string(), item: z.string(), rule: z.string(), at: z.number() }),
  ),
  until: z.number(),
});
export type SentConversation = z.output<typeof sentConversation>;

export function labelQuestions({
  bus,
  process,
  signedWith,
  policy,
}: GrantDeskOptions): Readonly<Record<string, Question>> {
  const hasLabels = async (): Promise<boolean> => (await policy())?.rules.some(usesLabels) === true;
  return {
    labels: async (args) => {
      const open = bus();
      if (open === undefined) return undefined;
      // Without such rules, no conversation has labels, and the bus need not have a bucket for them.
      if (!(await hasLabels())) return { conversations: [], total: 0 };
      const { of, ...wanted } = asked.parse(args);
      return list(open, of, wanted);
    },
    'label-clear': async ({ to, said, signature }) => {
      const open = bus();
      if (open === undefined || to !== process) return undefined;
      const keys = signedWith();
      if (keys !== undefined && !isSigned(keys, String(said), typeof signature === 'string' ? signature : ''))
        return { kind: 'unsigned', problem: 'the signature of this decision does not fit' };
      const { id, label, ...by } = toClear.parse(JSON.parse(String(said)));
      try {
        if (!(await hasLabels())) throw new LabelProblem('unknown', 'no rule of this gateway adds or needs labels');
        const { record, cleared } = await (
          await ConversationBoard.open(open)
        ).clear(id, label, (found) => refusalOf(by, found));
        return { conversation: record, cleared };
      } catch (error) {
        const kind = error instanceof LabelProblem ? error.kind : 'over';
        return { kind, problem: printable((error as Error).message, 500) };
      }
    },
  };
}

async function list(
  bus: Bus,
  of: LabelPerson,
  wanted: Filter,
): Promise<{ readonly conversations: readonly ConversationRecord[]; readonly total: number }> {
  let total = 0;
  let found: ConversationRecord[] = [];
  const latest = (): ConversationRecord[] =>
    found.toSorted((one, other) => labelledAt(other) - labelledAt(one)).slice(0, maxListed);
  await (
    await ConversationBoard.open(bus)
  ).each((record) => {
    if (!maySee(of, record) || !fits(wanted, record)) return;
    total += 1;
    found.push({ ...record, ...(record.who === undefined ? {} : { who: record.who.slice(0, maxNames) }) });
    if (found.length >= 2 * maxListed) found = latest();
  });
  return { conversations: latest(), total };
}

const labelledAt = ({ labels }: ConversationRecord): number => Math.max(...labels.map(({ at }) => at));

function fits({ user, client, conversation, session, label }: Filter, record: ConversationRecord): boolean {
  const { id, principal, who: [caller = ''] = [], labels } = record;
  return (
    (user === undefined || user === principal || user === caller || caller.endsWith(`|${user}`)) &&
    (client === undefined || client === record.client) &&
    (conversation === undefined || conversation === id) &&
    (session === undefined || session === record.session) &&
    (label === undefined || labels.some((each) => each.label === label))
  );
}

/** The only tenant whose conversations a person sees; undefined for all, also of callers without a tenant. */
function boundOf({ roles, facts, tenant }: LabelPerson): string | undefined {
  if (tenant !== undefined) return tenant;
  const isOfGateway = roles.some((role) => role === 'operator' || role === 'auditor' || role === 'admin');
  return isOfGateway ? undefined : facts?.tenant;
}

function maySee(by: LabelPerson, { tenant }: Pick<ConversationRecord, 'tenant'>): boolean {
  if (by.tenant === undefined && !mayDo('labels.list', by.roles)) return false;
  const bound = boundOf(by);
  return bound === undefined || bound === tenant;
}

/** Why a person may not clear labels of a conversation that it sees. */
export function obstacleOf(
  by: LabelPerson,
  { principal, who = [] }: Pick<ConversationRecord, 'principal' | 'who'>,
): string | undefined {
  if (by.tenant === undefined && !mayDo('labels.clear', by.roles))
    return 'this is for users with the role approver, operator or admin';
  return approvalObstacle(by.facts, { principal, who }) === undefined
    ? undefined
    : 'no user clears labels of their own conversations';
}

function refusalOf(by: LabelPerson, record: ConversationRecord): LabelProblem | undefined {
  if (!maySee(by, record)) return new LabelProblem('unknown', `there is no conversation ${record.id} with labels`);
  const obstacle = obstacleOf(by, record);
  return obstacle === undefined ? undefined : new LabelProblem('forbidden', obstacle);
}
