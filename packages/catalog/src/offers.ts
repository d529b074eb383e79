/** Differences between a server's lists for some clients and its common lists. */
import {
  isModernRevision,
  listKinds,
  offerKey,
  ownerKey,
  type CallerOffer,
  type CatalogLists,
  type CatalogRecord,
  type Declared,
  type JsonObject,
  type ListKind,
  type OfferedList,
} from '@omnibus/protocol';
import { identity } from './entry.ts';

/**
 * @param common the common lists.
 * @param lists what some are, as far as it could be read.
 * @returns the lists that differ.
 */
export function differences(common: CatalogLists, lists: Partial<CatalogLists>): CallerOffer['lists'] {
  return Object.fromEntries(
    listKinds.flatMap((kind) => {
      const list = lists[kind];
      const difference = list === undefined ? undefined : differenceOf(kind, common[kind], list);
      return difference === undefined ? [] : [[kind, difference]];
    }),
  );
}

/** The known lists of a server for one client, as a record of common lists. */
export function offeredTo(record: CatalogRecord, declared: Declared): CatalogRecord {
  if (isUserUnknown(record, declared))
    return {
      ...record,
      unread: listKinds,
      problem: record.problem ?? 'what it offers to this user has not been read yet',
    };
  const offer = offerFor(record, declared);
  if (offer === undefined || (Object.keys(offer.lists).length === 0 && offer.unfit === undefined)) return record;
  const lists = Object.fromEntries(
    listKinds.map((kind) => [kind, withDifference(kind, record.lists[kind], offer.lists[kind])]),
  ) as unknown as CatalogLists;
  return { ...record, lists, ...(offer.unfit === undefined ? {} : { unfit: offer.unfit }) };
}

/** The name of such lists in a record; '' for the common ones. */
export function offerKeyOf(
  { revision, owners, capabilities }: Pick<CatalogRecord, 'revision' | 'owners' | 'capabilities'>,
  declared: Declared,
): string {
  return owners !== undefined ? ownerKey(declared) : offerKey(declared, isModernRevision(revision), capabilities);
}

/** Undefined if it is the common list, or unknown. */
function offerFor(record: CatalogRecord, declared: Declared): CallerOffer | undefined {
  const known = offerKeyOf(record, declared);
  const key = record.owners === undefined ? known : (record.owners[known] ?? '');
  return key === '' ? undefined : record.offers?.find((offer) => offer.key === key);
}

/** Whether it is known what such clients are offered. */
export function isOfferKnown(record: CatalogRecord, declared: Declared): boolean {
  return offerKeyOf(record, declared) === '' || offerFor(record, declared) !== undefined;
}

/** Names a server's lists for such clients, if they differ from the common ones. */
export function differenceFor(record: CatalogRecord, declared: Declared): string | undefined {
  if (isUserUnknown(record, declared)) return record.server;
  const offer = offerFor(record, declared);
  return offer === undefined || (Object.keys(offer.lists).length === 0 && offer.unfit === undefined)
    ? undefined
    : `${record.server} ${offer.key}`;
}

/** Whether the lists of a server with users' own credentials are not yet read for this user: the common lists say nothing about this user's. */
function isUserUnknown(record: CatalogRecord, declared: Declared): boolean {
  return record.owners !== undefined && !isOfferKnown(record, declared);
}

function differenceOf(
  kind: ListKind,
  common: readonly JsonObject[],
  list: readonly JsonObject[],
): OfferedList | undefined {
  const nameOf = (entry: JsonObject): string => entry[identity[kind]] as string;
  const known = new Map(common.map((entry) => [nameOf(entry), JSON.stringify(entry)]));
  const names = new Set(list.map(nameOf));
  const entries = list.filter((entry) => known.get(nameOf(entry)) !== JSON.stringify(entry));
  const without = [...known.keys()].filter((name) => !names.has(name));
  return entries.length === 0 && without.length === 0 ? undefined : { entries, without };
}

/** Entries keep their place; those that only such clients are offered come last. */
function withDifference(
  kind: ListKind,
  common: readonly JsonObject[],
  difference: OfferedList | undefined,
): readonly JsonObject[] {
  if (difference === undefined) return common;
  const nameOf = (entry: JsonObject): string => entry[identity[kind]] as string;
  const without = new Set(difference.without);
  const other = new Map(difference.entries.map((entry) => [nameOf(entry), entry]));
  const kept = common.flatMap((entry) => {
    const name = nameOf(entry);
    const replaced = other.get(name);
    other.delete(name);
    return without.has(name) && replaced === undefined ? [] : [replaced ?? entry];
  });
  return [...kept, ...other.values()];
}
