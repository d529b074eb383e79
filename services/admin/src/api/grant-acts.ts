/** Acts about rights for a time, on their records: asking, approving, refusing, withdrawing and ending. Each throws an error with a message for the person. */
import { randomBytes } from 'node:crypto';
import type { GrantTerms, Policy } from '@omnibus/policy';
import { approvalObstacle, type Approvable, type Facts } from '@omnibus/identity';
import type { GrantRecord } from '@omnibus/protocol';
import { mayLook, type Approver } from '../approval-rules.ts';
import { mayDo } from '../roles.ts';

/** A person that acts, with the name for records. */
export interface Actor extends Approver {
  readonly by: string;
}

/** An act refused since the person may not do it. */
export class Forbidden extends Error {}

/** An act on a record that is not there, or that the person may not see. */
export class Unknown extends Error {}

/** Time within which an approver may decide. */
const requestMs = 24 * 60 * 60_000;
/** Bounds on requests of one caller: open ones, and all of a day, whose records are kept. */
const maxRequests = 10;
const maxRequestsOfDay = 100;

export interface Wish {
  readonly name: string;
  readonly forMs: number;
  readonly because: string;
}

/** The definition of a grant that a caller may ask for. */
export function termsOf(policy: Policy | undefined, name: string): GrantTerms | undefined {
  return policy?.grants.find(({ id }) => id === name);
}

/** A new request. @param all the present records. */
export function requested(
  { name, forMs, because }: Wish,
  { facts }: Actor,
  policy: Policy | undefined,
  all: readonly GrantRecord[],
): GrantRecord {
  const terms = termsOf(policy, name);
  if (facts === undefined) throw new Forbidden('who asks is not known here: set auth and auth.admin, and sign in');
  if (terms === undefined || !terms.isFor(facts))
    throw new Forbidden(`there is no grant ${JSON.stringify(name)} that you may ask for (access.grants)`);
  if (because.trim() === '') throw new Error('say why: the approver reads it, and it is on record');
  if (forMs > terms.lastsMs)
    throw new Error(
      `the grant ${JSON.stringify(name)} is for at most ${Math.floor(terms.lastsMs / 1_000)} s (\`lasts\`)`,
    );
  const now = Date.now();
  const own = all.filter(
    ({ principal, at, access }) => principal === facts.principal && now - at < requestMs && access !== undefined,
  );
  if (own.some(({ state, access }) => state === 'requested' && access?.name === name))
    throw new Error(`you have asked for ${JSON.stringify(name)} already: withdraw that request first`);
  if (own.filter(({ state }) => state === 'requested').length >= maxRequests)
    throw new Error(`you have ${maxRequests} requests open: withdraw some first`);
  if (own.length >= maxRequestsOfDay)
    throw new Error(`you have made ${maxRequestsOfDay} requests in a day: ask again tomorrow`);
  const { principal, issuer, subject, actors, tenant, client } = facts;
  return {
    id: randomBytes(9).toString('hex'),
    state: 'requested',
    at: now,
    until: now + requestMs,
    principal,
    who: [`${issuer}|${subject}`, ...actors.map((actor) => `${actor.issuer}|${actor.subject}`)],
    ...(tenant === undefined ? {} : { tenant }),
    ...(client === undefined ? {} : { client }),
    access: { name, version: terms.version, forMs },
    because,
    ...(terms.approvers === undefined ? {} : { approvers: terms.approvers }),
  };
}

/** Why a person may not decide a request now. */
export function obstacleOf(record: Approvable, { facts, roles }: Approver): string | undefined {
  if (!mayDo('grants.change', roles)) return 'this is for users with the role approver, operator or admin';
  return approvalObstacle(facts, record);
}

/** A request after the decision. @param forMs what the approver gives; undefined for what was asked for. */
export function decided(
  record: GrantRecord,
  {
    approve,
    forMs,
    reason,
  }: { readonly approve: boolean; readonly forMs?: number | undefined; readonly reason?: string | undefined },
  actor: Actor,
  policy: Policy | undefined,
): GrantRecord {
  const { access, state } = record;
  if (!mayLook(actor, record)) throw new Unknown(`there is no request ${record.id} that you may see`);
  const obstacle = obstacleOf(record, actor);
  if (obstacle !== undefined) throw new Forbidden(obstacle);
  if (access === undefined || state !== 'requested' || record.until <= Date.now())
    throw new Error(`${record.id} does not wait for a decision any more`);
  const said = { by: actor.by, ...(reason === undefined ? {} : { reason }) };
  if (!approve) return { ...record, ...said, state: 'refused' };
  if (termsOf(policy, access.name)?.version !== access.version)
    throw new Error(
      `the grant ${JSON.stringify(access.name)} was changed since this request: it must be asked for again`,
    );
  if (forMs !== undefined && forMs > access.forMs)
    throw new Error(`the caller asked for ${Math.floor(access.forMs / 1_000)} s: give that or less`);
  const at = Date.now();
  return { ...record, ...said, state: 'active', at, until: at + (forMs ?? access.forMs) };
}

/** A record after its end: of its own caller, or of a person that may end rights. */
export function ended(record: GrantRecord, { facts, by, roles }: Actor): GrantRecord {
  const isOwn = facts !== undefined && facts.principal === record.principal;
  if (!isOwn && !(mayDo('grants.change', roles) && mayLook({ facts, roles }, record)))
    throw new (maySee({ facts, roles }, record) ? Forbidden : Unknown)(
      `there is no grant ${record.id} that you may end`,
    );
  if ((record.state !== 'active' && record.state !== 'requested') || record.until <= Date.now())
    throw new Error(`${record.id} is over already`);
  return { ...record, state: record.state === 'active' ? 'ended' : isOwn ? 'withdrawn' : 'refused', endedBy: by };
}

/** Whether a caller may see a record: its own, or all that an approver may see. */
export function maySee(
  { facts, roles }: Approver,
  record: Pick<GrantRecord, 'approvers'> & { readonly principal: string },
): boolean {
  return (
    (facts !== undefined && facts.principal === record.principal) ||
    (mayDo('grants.list', roles) && mayLook({ facts, roles }, record))
  );
}

/** The grants that a caller may ask for. */
export function offersTo(facts: Facts | undefined, policy: Policy | undefined): readonly GrantTerms[] {
  return facts === undefined ? [] : (policy?.grants.filter(({ isFor }) => isFor(facts)) ?? []);
}
