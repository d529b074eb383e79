/**
 * Public names of tools and prompts. Language-model interfaces take 1 to 64 characters of `[A-Za-z0-9_-]`, so that is
 * what a client sees; the server's own name stays beside it in the view. A name depends on nothing but the server's name
 * and the original, never on the order in which servers connect (2026-07-28, server/tools: stable names across lists).
 */
import { hash } from 'node:crypto';

export const maxNameLength = 64;
/** Stands between a server's name and the name of its tool. */
export const separator = '__';
const hashLength = 8;

export interface NamedEntry {
  readonly server: string;
  readonly original: string;
}

/** The name with the server's in front: `server__tool`, shortened with a hash when it does not fit. */
export function prefixedName({ server, original }: NamedEntry): string {
  return fitName(`${server}${separator}${original}`);
}

/** A name within length and alphabet; one that had to be changed ends in a hash of what it was. */
export function fitName(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, '_');
  if (clean === name && name.length <= maxNameLength) return name;
  return `${clean.slice(0, maxNameLength - hashLength - 1)}_${shortHash(name)}`;
}

/**
 * Gives each entry its public name.
 * @param prefixed whether names carry their server's; without, only those that would collide do.
 * @param renamed names an operator chose, by `server/original`.
 */
export function publicNames<Entry extends NamedEntry>(
  entries: readonly Entry[], prefixed: boolean, renamed: ReadonlyMap<string, string>,
): ReadonlyMap<string, Entry> {
  const wanted = (entry: Entry): string => renamed.get(`${entry.server}/${entry.original}`) ?? (prefixed ? prefixedName(entry) : fitName(entry.original));
  const claims = new Map<string, number>();
  for (const entry of entries) claims.set(wanted(entry), (claims.get(wanted(entry)) ?? 0) + 1);
  const names = new Map<string, Entry>();
  for (const entry of entries) {
    let name = wanted(entry);
    if ((claims.get(name) ?? 0) > 1) name = prefixedName(entry);
    // Names can be made to collide; whoever comes later in the endpoint's order gives way until nothing is in the way.
    for (let turn = 0; names.has(name); turn += 1) name = fitName(`${prefixedName(entry)}_${shortHash(`${entry.server}/${entry.original}${turn === 0 ? '' : `#${turn}`}`)}`);
    names.set(name, entry);
  }
  return names;
}

/** Half a surrogate pair has no bytes of its own, so a text with one is hashed as it is written in JSON. */
function shortHash(text: string): string {
  return hash('sha256', text.isWellFormed() ? text : JSON.stringify(text), 'hex').slice(0, hashLength);
}
