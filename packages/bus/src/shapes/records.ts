/** Shapes of the records in buckets. */
import {
  changeKinds,
  definedKinds,
  isLegacyRevision,
  isObject,
  listKinds,
  type ApprovedDefinitions,
  type CallerOffer,
  type CatalogLists,
  type CatalogRecord,
  type ClientInfo,
  type HeldEntry,
  type UnfitEntry,
  type ListNotes,
  type OfferedList,
  type SessionRecord,
} from '@omnibus/protocol';
import { caller, logLevel } from './session-messages.ts';
import {
  count,
  fields,
  flag,
  list,
  number,
  object,
  oneOf,
  optional,
  pair,
  shape,
  text,
  token,
  type Predicate,
} from './shape.ts';

const entries = (key: string): Predicate => list((value) => isObject(value) && typeof value[key] === 'string');
const lists = fields<CatalogLists>({
  tools: entries('name'),
  prompts: entries('name'),
  resources: entries('uri'),
  resourceTemplates: entries('uriTemplate'),
});
const announcements: Predicate = (value) => isObject(value) && changeKinds.every((kind) => count(value[kind]));
const listNotes = fields<ListNotes>({
  meta: optional(object),
  more: optional(object),
  ttlMs: optional(number),
  readAt: optional(number),
  isPublic: optional(flag),
});
const notes: Predicate = (value) =>
  isObject(value) && listKinds.every((kind) => value[kind] === undefined || listNotes(value[kind]));
const offeredList = fields<OfferedList>({ entries: list(object), without: list(text) });
const unfit = fields<UnfitEntry>({ kind: oneOf(...listKinds), name: optional(text), problem: text });
const offer = fields<CallerOffer>({
  key: text,
  lists: (value) => isObject(value) && listKinds.every((kind) => value[kind] === undefined || offeredList(value[kind])),
  unfit: optional(list(unfit)),
});
const held = fields<HeldEntry>({ kind: oneOf(...definedKinds), name: text, guardrail: optional(text) });

export const approvedDefinitions = shape<ApprovedDefinitions>(
  fields<ApprovedDefinitions>({
    reached: text,
    instructions: optional(text),
    kinds: list(oneOf(...definedKinds)),
    entries: (value) => isObject(value) && Object.values(value).every(isObject),
  }),
);

export const catalogRecord = shape<CatalogRecord>(
  fields<CatalogRecord>({
    server: token,
    status: oneOf('up', 'down'),
    problem: optional(text),
    trouble: optional(text),
    revision: optional(text),
    capabilities: object,
    instructions: optional(text),
    lists,
    offers: optional(list(offer)),
    owners: optional((value) => isObject(value) && Object.values(value).every(text)),
    wantsSignIn: optional(flag),
    notes: optional(notes),
    unread: optional(list(oneOf(...listKinds))),
    leftOut: optional(count),
    unfit: optional(list(unfit)),
    held: optional(list(held)),
    hasLeft: optional(flag),
    announcements,
  }),
);

const clientInfo = fields<ClientInfo>({ name: text, version: optional(text) });
const question: Predicate = (value) =>
  Array.isArray(value) && value.length === 3 && text(value[0]) && token(value[1]) && count(value[2]);
const revision: Predicate = (value) => isLegacyRevision(value);

export const sessionRecord = shape<SessionRecord>(
  fields<SessionRecord>({
    caller,
    revision,
    capabilities: object,
    isReady: flag,
    logLevel: optional(logLevel),
    touched: list(token),
    subscriptions: list(pair(token, text)),
    bound: optional(list(pair(token, token))),
    questions: optional(list(question)),
    offered: list(text),
    client: optional(clientInfo),
    worker: token,
  }),
);
