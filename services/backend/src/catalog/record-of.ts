/** Builds a server's record. */
import type { CatalogRecord, ServerTrouble, ToolEntry } from '@omnibus/protocol';
import type { BaseLists } from './base-lists.ts';
import type { CallerOffers } from './caller-offers.ts';
import type { OwnerOffers } from './owner-offers.ts';
import type { RecordShape } from './record-shape.ts';
import { orSignInOffer } from './sign-in-offer.ts';

/** Decides which parts of what a server says are published. */
export interface RecordFilter {
  /** The record to publish in place of what the server says; the same object for the same input. */
  judged(record: CatalogRecord): CatalogRecord;
  /** Set by the publisher; called when something else is to be published. */
  changed: () => void;
  /** Resolves when it can decide, or holds back what it cannot decide about. */
  open(): Promise<void>;
  stop(): void;
}

export interface RecordParts {
  /** Undefined where everything is published. */
  readonly filter: RecordFilter | undefined;
  /** Undefined where clients see every tool as the server gives it. */
  readonly shape: RecordShape | undefined;
  readonly common: BaseLists;
  readonly offers: Pick<CallerOffers, 'all'>;
  readonly owners: OwnerOffers | undefined;
  /** The tool for a server that shows nothing to unknown users; undefined for others. */
  readonly standIn: ToolEntry | undefined;
  /** The server gets the caller's identity, and may answer no other. */
  readonly isToldCallers: boolean;
}

/** @param known the earlier record. */
export function recordOfUp(known: CatalogRecord, instructions: string | undefined, parts: RecordParts): CatalogRecord {
  const {
    problem: _problem,
    trouble: _trouble,
    notes: _notes,
    unread: _unread,
    offers: _offers,
    held: _held,
    instructions: _shown,
    owners: _owners,
    wantsSignIn: _wantsSignIn,
    leftOut: _leftOut,
    unfit: _unfit,
    ...record
  } = known;
  const offers = parts.offers.all;
  const { lists, problem, notes, unread, leftOut, unfit } = parts.common;
  return judged(
    {
      ...record,
      status: 'up',
      lists,
      ...(instructions === undefined ? {} : { instructions }),
      ...(problem === undefined ? {} : { problem }),
      ...(Object.keys(notes).length === 0 ? {} : { notes }),
      ...(unread.length === 0 ? {} : { unread }),
      ...(leftOut === 0 ? {} : { leftOut }),
      ...(unfit.length === 0 ? {} : { unfit }),
      ...(offers.length === 0 ? {} : { offers }),
    },
    parts,
  );
}

/** Without the base connection. @param why it is not there. */
export function recordOfLost(
  known: CatalogRecord,
  { problem, trouble }: { readonly problem: string; readonly trouble: ServerTrouble | undefined },
  parts: RecordParts,
): CatalogRecord {
  const { wantsSignIn, trouble: _trouble, ...before } = known;
  const lost: CatalogRecord = {
    ...before,
    status: 'down',
    problem,
    ...(trouble === undefined ? {} : { trouble }),
    lists: wantsSignIn === true || parts.owners !== undefined ? parts.common.lists : before.lists,
  };
  return parts.owners === undefined
    ? orSignInOffer(lost, parts.standIn)
    : judged(parts.isToldCallers && trouble === 'credentials' ? refusingNobody(lost) : lost, parts);
}

/** A server that refuses an anonymous connection is up for its known users. */
function refusingNobody({ problem: _problem, trouble: _trouble, ...record }: CatalogRecord): CatalogRecord {
  return { ...record, status: 'up' };
}

/** What stands for a server before somebody has signed in is the gateway's own, and held against nothing. */
function judged(record: CatalogRecord, { filter, shape, owners, standIn }: RecordParts): CatalogRecord {
  const whole =
    owners === undefined
      ? record
      : { ...record, ...owners.of(record.lists, orSignInOffer(record, standIn) !== record) };
  const served = filter?.judged(whole) ?? whole;
  return orSignInOffer(shape?.record(served) ?? served, standIn);
}

/** Whether a record says nothing new. Lists that read the same are the same objects. */
export function isSame(record: CatalogRecord, known: CatalogRecord, written: CatalogRecord | undefined): boolean {
  if (
    known !== written ||
    record.lists !== known.lists ||
    record.announcements !== known.announcements ||
    record.status !== known.status
  )
    return false;
  const rest = ({ lists: _lists, ...more }: CatalogRecord): string =>
    JSON.stringify(Object.entries(more).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return rest(record) === rest(known);
}
