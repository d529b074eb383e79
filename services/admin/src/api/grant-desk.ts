/** The answers of a process that holds calls to questions about rights for a time, and to acts about them. */
import { Grants, type Bus } from '@omnibus/bus';
import type { SealingKeys } from '@omnibus/identity';
import { inTurn } from '@omnibus/lifecycle';
import type { Policy } from '@omnibus/policy';
import { grantStates, printable, type GrantRecord } from '@omnibus/protocol';
import { z } from 'zod';
import { sentApprover } from '../approval-rules.ts';
import { isSigned } from './decision-seal.ts';
import { decided, ended, Forbidden, maySee, offersTo, requested, termsOf, Unknown } from './grant-acts.ts';
import type { Question } from './process-desk.ts';

export interface GrantDeskOptions {
  /** Undefined while the process is starting, and where it holds no calls. */
  readonly bus: () => Bus | undefined;
  readonly process: string;
  /** The keys for signatures of acts; undefined without authenticated callers, or if no other process could send acts. */
  readonly signedWith: () => SealingKeys | undefined;
  /** The compiled rules of the configuration in force; undefined if there are none. */
  readonly policy: () => Promise<Policy | undefined>;
}

/** Records of one answer: a message of the bus has at most a megabyte. */
const maxListed = 500;

const asker = z.object(sentApprover);
const person = { by: z.string(), ...sentApprover };
const act = z.discriminatedUnion('act', [
  z.object({ act: z.literal('request'), name: z.string(), forMs: z.number(), because: z.string(), ...person }),
  z.object({
    act: z.literal('decide'),
    id: z.string(),
    approve: z.boolean(),
    forMs: z.number().optional(),
    reason: z.string().optional(),
    ...person,
  }),
  z.object({ act: z.literal('end'), id: z.string(), ...person }),
]);
type Act = z.output<typeof act>;

/** A grant that the caller may ask for. */
export const sentOffer = z.object({
  name: z.string(),
  group: z.string().optional(),
  lastsMs: z.number(),
  approvers: z.array(z.string()).optional(),
  because: z.string().optional(),
});

/** One record, as processes send it to each other; a member that this version does not know is left out. */
export const sentGrant = z.object({
  id: z.string(),
  state: z.enum(grantStates),
  at: z.number(),
  until: z.number(),
  principal: z.string(),
  who: z.array(z.string()),
  tenant: z.string().optional(),
  client: z.string().optional(),
  calls: z
    .object({
      rule: z.string(),
      server: z.string(),
      kind: z.enum(['prompt', 'resource']).optional(),
      tool: z.string(),
    })
    .optional(),
  access: z.object({ name: z.string(), version: z.string(), forMs: z.number() }).optional(),
  because: z.string().optional(),
  approvers: z.array(z.string()).optional(),
  by: z.string().optional(),
  reason: z.string().optional(),
  endedBy: z.string().optional(),
});
export type SentGrant = z.output<typeof sentGrant>;

export function grantQuestions(options: GrantDeskOptions): Readonly<Record<string, Question>> {
  const { bus, process, signedWith, policy } = options;
  /** Acts in a row: each counts the records of those before it. */
  const next = inTurn();
  return {
    grants: async ({ of }) => {
      const open = bus();
      if (open === undefined) return undefined;
      const seer = asker.parse(of);
      const [all, rules] = [await read(open), await policy()];
      const seen = all.filter((record) => maySee(seer, record)).toSorted((one, other) => other.at - one.at);
      return {
        grants: seen.slice(0, maxListed).map((record) => asItIs(record, rules)),
        offers: offersTo(seer.facts, rules)
          .slice(0, maxListed)
          .map(({ id, group, lastsMs, approvers, because }) => ({ name: id, group, lastsMs, approvers, because })),
      };
    },
    'grant-act': async ({ to, said, signature }) => {
      const open = bus();
      if (open === undefined || to !== process) return undefined;
      const keys = signedWith();
      if (keys !== undefined && !isSigned(keys, String(said), typeof signature === 'string' ? signature : ''))
        return { kind: 'unsigned', problem: 'the signature of this decision does not fit' };
      try {
        const asked = act.parse(JSON.parse(String(said)));
        return { grant: await next(async () => perform(open, asked, await policy())) };
      } catch (error) {
        const kind = error instanceof Forbidden ? 'forbidden' : error instanceof Unknown ? 'unknown' : 'over';
        return { kind, problem: printable((error as Error).message, 500) };
      }
    },
  };
}

async function read(bus: Bus): Promise<readonly GrantRecord[]> {
  const grants = await Grants.open(bus);
  grants.close();
  return grants.all;
}

/** @throws {Error} with a message for the person. */
async function perform(bus: Bus, asked: Act, policy: Policy | undefined): Promise<GrantRecord> {
  const grants = await Grants.open(bus);
  grants.close();
  if ('id' in asked && !grants.all.some(({ id }) => id === asked.id))
    throw new Unknown(`there is no grant ${asked.id}`);
  switch (asked.act) {
    case 'request': {
      const record = requested(asked, asked, policy, grants.all);
      await grants.add(record);
      return record;
    }
    case 'decide':
      return grants.change(asked.id, (record) => decided(record, asked, asked, policy));
    case 'end':
      return grants.change(asked.id, (record) => ended(record, asked));
  }
}

/** The record with its true state: a changed rule or definition has ended it, or its time is over. */
function asItIs(record: GrantRecord, policy: Policy | undefined): GrantRecord {
  const { state, access, calls } = record;
  if (state !== 'active' && state !== 'requested') return record;
  const isCurrent =
    access !== undefined
      ? termsOf(policy, access.name)?.version === access.version
      : policy?.rules.some(({ id, terms }) => id === calls?.rule && terms?.lasts?.version === calls.version) === true;
  return isCurrent ? record : { ...record, state: 'ended', endedBy: 'a changed configuration' };
}
