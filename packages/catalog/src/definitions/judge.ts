/**
 * Compares the definitions of a server with the approved ones. Where only texts have changed, the approved texts are served; an entry whose input,
 * output or behaviour has changed is withheld until its approval. Pure: the result is data.
 */
import {
  definedKinds,
  type ApprovedDefinitions,
  type CallerOffer,
  type CatalogLists,
  type DefinedKind,
  type HeldEntry,
  type JsonObject,
} from '@omnibus/protocol';
import { identity } from '../entry.ts';
import { changedFacets, definitionDigest, type Facet } from './facets.ts';
import { differencesOf, isHiding, risksOf, type Difference } from './difference.ts';

/** `pin`: definitions that were not approved are not served. `warn`: they are served and reported. */
export type DefinitionsMode = 'pin' | 'warn';

/** The present definitions of a server. */
export interface Said {
  readonly reached: string;
  readonly instructions: string | undefined;
  readonly lists: CatalogLists;
  readonly offers: readonly CallerOffer[];
  /** Lists that were read to their end. */
  readonly kinds: readonly DefinedKind[];
}

/** `changed`: it differs from the approved one. `new`: it was not approved. `hiding`: it contains invisible text. `moved`: its server has another address or command. */
type Why = 'changed' | 'new' | 'hiding' | 'moved';

/** A definition that differs from the approved one. */
export interface Deviation {
  readonly kind: DefinedKind | 'instructions';
  /** The server's own name of the entry, or its URI template; '' for instructions. */
  readonly name: string;
  readonly why: Why;
  /** Whether it is withheld from clients; otherwise they get the approved texts, or with `warn` the new ones. */
  readonly isHeld: boolean;
  readonly facets: readonly Facet[];
  readonly risks: readonly string[];
  readonly differences: readonly Difference[];
  /** Digest of the present definition; an approval names the digest that the approver saw. */
  readonly digest: string;
}

export interface Judgement {
  readonly lists: CatalogLists;
  readonly offers: readonly CallerOffer[];
  readonly instructions: string | undefined;
  readonly held: readonly HeldEntry[];
  readonly deviations: readonly Deviation[];
}

function definitionKey(kind: DefinedKind, name: string): string {
  return `${kind}:${name}`;
}

/**
 * Approves definitions at the first read of a server or a list of it that could not be read before, except definitions that contain hidden text.
 * @returns the same object when there is nothing new.
 */
export function atFirstSight(approved: ApprovedDefinitions | undefined, said: Said): ApprovedDefinitions {
  const kinds = said.kinds.filter((kind) => approved?.kinds.includes(kind) !== true);
  if (approved !== undefined && (kinds.length === 0 || approved.reached !== said.reached)) return approved;
  const { reached, instructions } = approved ?? said;
  const entries = kinds.flatMap((kind) =>
    (said.lists[kind] as readonly JsonObject[])
      .filter((entry) => !isHiding(entry))
      .map((entry) => [definitionKey(kind, nameOf(kind, entry)), entry] as const),
  );
  return {
    reached,
    ...(instructions === undefined || (approved === undefined && isHiding(instructions)) ? {} : { instructions }),
    kinds: [...(approved?.kinds ?? []), ...kinds],
    entries: { ...approved?.entries, ...Object.fromEntries(entries) },
  };
}

export function judge(mode: DefinitionsMode, approved: ApprovedDefinitions, said: Said): Judgement {
  const isPinned = mode === 'pin';
  const hasMoved = approved.reached !== said.reached;
  const deviations = new Map<string, Deviation>();
  /** The entry as clients get it; undefined when it is withheld. */
  const shown = <Entry extends JsonObject>(kind: DefinedKind, entry: Entry): Entry | undefined => {
    const name = nameOf(kind, entry);
    const key = definitionKey(kind, name);
    const before = Object.hasOwn(approved.entries, key) ? approved.entries[key] : undefined;
    const facets = before === undefined ? [] : changedFacets(kind, before, entry);
    if (before !== undefined && facets.length === 0 && !hasMoved) return entry;
    const why: Why = hasMoved ? 'moved' : isHiding(entry) ? 'hiding' : before === undefined ? 'new' : 'changed';
    const isHeld = isPinned && (hasMoved || before === undefined || facets.some((facet) => facet !== 'words'));
    const digest = definitionDigest(entry);
    deviations.set(`${key} ${digest}`, {
      kind,
      name,
      why,
      isHeld,
      facets,
      risks: risksOf(kind, before, entry),
      differences: differencesOf(before, entry),
      digest,
    });
    if (isHeld) return undefined;
    return isPinned ? (before as Entry) : entry;
  };
  const list = <Kind extends DefinedKind>(kind: Kind): CatalogLists[Kind] =>
    (said.lists[kind] as readonly JsonObject[]).flatMap(
      (entry) => shown(kind, entry) ?? [],
    ) as unknown as CatalogLists[Kind];
  const lists: CatalogLists = {
    ...said.lists,
    tools: list('tools'),
    prompts: list('prompts'),
    resourceTemplates: list('resourceTemplates'),
  };
  const offers = said.offers.map((offer) => ({
    ...offer,
    lists: Object.fromEntries(
      Object.entries(offer.lists).map(([kind, difference]) => {
        if (!isDefined(kind)) return [kind, difference];
        const kept = difference.entries.map((entry) => ({ name: nameOf(kind, entry), entry: shown(kind, entry) }));
        const without = kept.filter(({ entry }) => entry === undefined).map(({ name }) => name);
        return [
          kind,
          {
            entries: kept.flatMap(({ entry }) => entry ?? []),
            without: [...new Set([...difference.without, ...without])],
          },
        ];
      }),
    ),
  }));
  const instructions = instructionsOf(isPinned, hasMoved, approved, said, deviations);
  const held = [...deviations.values()]
    .filter(({ isHeld }) => isHeld)
    .map(({ kind, name }) => ({ kind: kind as DefinedKind, name }));
  return { lists, offers, instructions, held: isPinned ? held : [], deviations: [...deviations.values()] };
}

/**
 * The approved definitions after an approval of some deviations.
 * @param taken digests of the definitions that are approved.
 */
export function approve(
  approved: ApprovedDefinitions,
  said: Said,
  deviations: readonly Deviation[],
  taken: ReadonlySet<string>,
): ApprovedDefinitions {
  const chosen = deviations.filter(({ digest }) => taken.has(digest));
  // A moved server is approved as a whole: the approver sees all of it.
  const hasMoved = approved.reached !== said.reached;
  const entries: Record<string, JsonObject> = hasMoved ? {} : { ...approved.entries };
  const all = definedKinds.flatMap((kind) =>
    [
      ...(said.lists[kind] as readonly JsonObject[]),
      ...said.offers.flatMap(({ lists }) => lists[kind]?.entries ?? []),
    ].map((entry) => ({ kind, entry })),
  );
  for (const { kind, entry } of all) {
    const digest = definitionDigest(entry);
    if (chosen.some((deviation) => deviation.kind === kind && deviation.digest === digest))
      entries[definitionKey(kind, nameOf(kind, entry))] = entry;
  }
  const takesInstructions = chosen.some(({ kind }) => kind === 'instructions');
  const instructions = takesInstructions ? said.instructions : hasMoved ? undefined : approved.instructions;
  return {
    reached: said.reached,
    ...(instructions === undefined ? {} : { instructions }),
    kinds: hasMoved ? said.kinds : approved.kinds,
    entries,
  };
}

function instructionsOf(
  isPinned: boolean,
  hasMoved: boolean,
  approved: ApprovedDefinitions,
  said: Said,
  deviations: Map<string, Deviation>,
): string | undefined {
  const { instructions } = said;
  if (!hasMoved && instructions === approved.instructions) return instructions;
  const why: Why = hasMoved
    ? 'moved'
    : instructions !== undefined && isHiding(instructions)
      ? 'hiding'
      : approved.instructions === undefined
        ? 'new'
        : 'changed';
  if (instructions !== undefined || !hasMoved) {
    deviations.set('instructions', {
      kind: 'instructions',
      name: '',
      why,
      isHeld: false,
      facets: ['words'],
      risks: risksOf('prompts', undefined, { instructions: instructions ?? '' }),
      differences: differencesOf({ instructions: approved.instructions }, { instructions }),
      digest: definitionDigest(instructions ?? null),
    });
  }
  if (!isPinned) return instructions;
  return hasMoved ? undefined : approved.instructions;
}

function nameOf(kind: DefinedKind, entry: JsonObject): string {
  return entry[identity[kind]] as string;
}

function isDefined(kind: string): kind is DefinedKind {
  return (definedKinds as readonly string[]).includes(kind);
}
