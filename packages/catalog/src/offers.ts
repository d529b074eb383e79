/** How what a server offers to some clients differs from what it offers to everybody, and what such clients are offered then. */
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
 * @param common what everybody is offered.
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

/** What a client is offered by a server, as far as it is known: a record as if the server offered it to everybody. */
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

/** Under which name a record keeps what such clients are offered; '' for what everybody is. */
export function offerKeyOf(
  { revision, owners, capabilities }: Pick<CatalogRecord, 'revision' | 'owners' | 'capabilities'>,
  declared: Declared,
): string {
  return owners !== undefined ? ownerKey(declared) : offerKey(declared, isModernRevision(revision), capabilities);
}

/** Undefined where it is what everybody is offered, or is not known. */
function offerFor(record: CatalogRecord, declared: Declared): CallerOffer | undefined {
  const known = offerKeyOf(record, declared);
  const key = record.owners === undefined ? known : (record.owners[known] ?? '');
  return key === '' ? undefined : record.offers?.find((offer) => offer.key === key);
}

/** Whether it is known what such clients are offered. */
export function isOfferKnown(record: CatalogRecord, declared: Declared): boolean {
  return offerKeyOf(record, declared) === '' || offerFor(record, declared) !== undefined;
}

/** Names what such clients are offered by a server, where that is something else than what everybody is. */
export function differenceFor(record: CatalogRecord, declared: Declared): string | undefined {
  if (isUserUnknown(record, declared)) return record.server;
  const offer = offerFor(record, declared);
  return offer === undefined || (Object.keys(offer.lists).length === 0 && offer.unfit === undefined)
    ? undefined
    : `${record.server} ${offer.key}`;
}

/** Whether a server that is called in each user's own name has not been read for this one: what is in its lists for all says nothing of his. */
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
