/**
 * Guardrails on entries of a server's lists, and its instructions. They apply to its catalogue record, once for each change of it, so they concern
 * all callers. A denied entry is in no list; a tool or prompt keeps its name, so that names depend on no guardrail.
 */
import type { Guardrail, Guardrails, Target } from '@omnibus/policy';
import {
  isObject,
  listKinds,
  type CallerOffer,
  type CatalogLists,
  type CatalogRecord,
  type HeldEntry,
  type JsonObject,
  type ListKind,
} from '@omnibus/protocol';
import type { Label } from './message.ts';
import type { GuardrailNote } from './screen.ts';
import { withLabels } from './words.ts';

/** Reports a decision about an entry; `name` is empty for instructions. */
type Tell = (note: GuardrailNote, entry: { readonly kind: Target['kind']; readonly name: string }) => void;

const targets: Readonly<Record<ListKind, Target['kind']>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource',
};
const naming: Readonly<Record<ListKind, 'name' | 'uri' | 'uriTemplate'>> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
};
/** Members that are read and not compared with anything: their redaction changes no call. */
const prose: ReadonlySet<string> = new Set(['title', 'description', 'instructions', '$comment', '_meta']);

/** @returns the same record where no guardrail has anything to say of it. */
export function guardedRecord(record: CatalogRecord, guardrails: Guardrails | undefined, tell: Tell): CatalogRecord {
  if (guardrails?.has('lists') !== true) return record;
  const { server } = record;
  const held: HeldEntry[] = [];
  const about = (kind: Target['kind'], name: string): readonly Guardrail[] =>
    guardrails.about(undefined, { kind, server, name }, () => ({
      facts: undefined,
      kind,
      server,
      name,
      method: 'list',
      args: undefined,
      now: Date.now(),
      address: undefined,
    }))?.at.lists ?? [];
  const guarded = <Entry extends JsonObject>(kind: ListKind, entries: readonly Entry[]): readonly Entry[] => {
    const made = entries.flatMap((entry): readonly Entry[] => {
      const target = targets[kind];
      const name = String(entry[naming[kind]]);
      const seen = guardedEntry(entry, about(target, name), (note) => tell(note, { kind: target, name }));
      if (typeof seen === 'object') return [seen as Entry];
      if (kind !== 'resources') held.push({ kind, name, guardrail: seen });
      return [];
    });
    return made.length === entries.length && made.every((entry, index) => entry === entries[index]) ? entries : made;
  };
  const lists = Object.fromEntries(
    listKinds.map((kind) => [kind, guarded<JsonObject>(kind, record.lists[kind])]),
  ) as unknown as CatalogLists;
  const isOther = listKinds.some((kind) => lists[kind] !== record.lists[kind]);
  const offers = record.offers?.map((offer) => guardedOffer(offer, guarded));
  const instructions =
    record.instructions === undefined
      ? undefined
      : guardedEntry({ instructions: record.instructions }, about('server', ''), (note) =>
          tell(note, { kind: 'server', name: '' }),
        );
  const { instructions: _theirs, ...rest } = record;
  if (
    !isOther &&
    held.length === 0 &&
    (instructions === undefined ||
      (typeof instructions === 'object' && instructions['instructions'] === record.instructions)) &&
    offers?.every((offer, index) => offer === record.offers?.[index]) !== false
  )
    return record;
  return {
    ...rest,
    lists,
    ...(offers === undefined ? {} : { offers }),
    held: [...(record.held ?? []), ...held],
    ...(typeof instructions === 'object' ? { instructions: String(instructions['instructions']) } : {}),
  };
}

/** Further entries for some clients: a denied one is missing for them. */
function guardedOffer(
  offer: CallerOffer,
  guarded: (kind: ListKind, entries: readonly JsonObject[]) => readonly JsonObject[],
): CallerOffer {
  let isOther = false;
  const lists = Object.fromEntries(
    Object.entries(offer.lists).map(([kind, list]) => {
      const entries = guarded(kind as ListKind, list.entries);
      if (entries === list.entries) return [kind, list];
      isOther = true;
      const nameOf = (entry: JsonObject): string => String(entry[naming[kind as ListKind]]);
      const shown = new Set(entries.map(nameOf));
      return [
        kind,
        { entries, without: [...list.without, ...list.entries.map(nameOf).filter((name) => !shown.has(name))] },
      ];
    }),
  );
  return isOther ? { ...offer, lists } : offer;
}

/** @returns the entry for clients, or the guardrail that denies it. */
function guardedEntry(
  entry: JsonObject,
  guardrails: readonly Guardrail[],
  tell: (note: GuardrailNote) => void,
): JsonObject | string {
  let made = entry;
  const labels: Label[] = [];
  for (const { id, check, action, label, isRecorded } of guardrails) {
    if (check.kind !== 'text') continue; // Sizes and others outside do not look at lists (`policy/guardrails`).
    const said = check.redaction.said(made);
    if (said === made) continue;
    const isDenied = action === 'deny' || (action === 'change' && !changesProseOnly(made, said));
    tell({
      guardrail: id,
      stage: 'lists',
      action: isRecorded ? 'recorded' : isDenied ? 'denied' : action === 'change' ? 'changed' : 'labelled',
    });
    if (isRecorded) continue;
    if (isDenied) return id;
    if (action === 'change') made = said;
    else labels.push({ guardrail: id, label });
  }
  return withLabels(made, labels);
}

/** Whether nothing differs but texts for readers: names, and values that calls are compared with, cannot be changed here. */
function changesProseOnly(before: unknown, after: unknown, member = ''): boolean {
  if (before === after) return true;
  if (prose.has(member) && typeof before === 'string' && typeof after === 'string') return true;
  if (Array.isArray(before) && Array.isArray(after))
    return (
      before.length === after.length &&
      before.every((item, index) => changesProseOnly(item, after[index], prose.has(member) ? member : ''))
    );
  if (!isObject(before) || !isObject(after)) return false;
  const names = Object.keys(before);
  return (
    names.length === Object.keys(after).length &&
    names.every(
      (name) => name in after && changesProseOnly(before[name], after[name], member === '_meta' ? member : name),
    )
  );
}
