/**
 * Public names of tools and prompts. Interfaces of language models accept 1 to 64 characters of `[A-Za-z0-9_-]`, so clients see only such names;
 * the view also has the server's own name. A public name depends only on the name of the server and the original name, never on the order in which
 * servers connect (2026-07-28, server/tools: stable names across lists).
 */
import { hash } from 'node:crypto';

export const maxNameLength = 64;
/** Separates the server's name from the name of its tool. */
export const separator = '__';
const hashLength = 8;

export interface NamedEntry {
  readonly server: string;
  readonly original: string;
}

/** The name with the server's name before it, `server__tool`, shortened with a hash if it is too long. */
export function prefixedName({ server, original }: NamedEntry, length = maxNameLength): string {
  return fitName(`${server}${separator}${original}`, length);
}

/** Makes a name fit in length and alphabet; a changed name ends in a hash of the original. @param length most characters. */
export function fitName(name: string, length = maxNameLength): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, '_');
  if (clean === name && name.length <= length) return name;
  return `${clean.slice(0, length - hashLength - 1)}_${shortHash(name)}`;
}

/**
 * Gives each entry its public name.
 * @param prefixed whether all names have their server's name before them; otherwise only names that would be equal have.
 * @param renamed names that the operator has configured, by `server/original`.
 * @param length most characters of a name that the operator has not chosen.
 * @param reserved names of the gateway's own tools: an entry that would have one gets its server's name before it.
 */
export function publicNames<Entry extends NamedEntry>(
  entries: readonly Entry[],
  prefixed: boolean,
  renamed: ReadonlyMap<string, string>,
  length = maxNameLength,
  reserved: ReadonlySet<unknown> = new Set(),
): ReadonlyMap<string, Entry> {
  const wanted = (entry: Entry): string =>
    renamed.get(`${entry.server}/${entry.original}`) ??
    (prefixed ? prefixedName(entry, length) : fitName(entry.original, length));
  const claims = new Map<string, number>();
  for (const entry of entries) claims.set(wanted(entry), (claims.get(wanted(entry)) ?? 0) + 1);
  const names = new Map<string, Entry>();
  for (const entry of entries) {
    let name = wanted(entry);
    if ((claims.get(name) ?? 0) > 1 || reserved.has(name)) name = prefixedName(entry, length);
    // Names can be made to collide; whoever comes later in the endpoint's order gives way until nothing is in the way.
    for (let turn = 0; names.has(name) || reserved.has(name); turn += 1)
      name = fitName(
        `${prefixedName(entry, length)}_${shortHash(`${entry.server}/${entry.original}${turn === 0 ? '' : `#${turn}`}`)}`,
        length,
      );
    names.set(name, entry);
  }
  return names;
}

/** A short hash. A text with an unpaired surrogate is hashed in its JSON form, since it cannot be encoded as UTF-8. */
function shortHash(text: string): string {
  return hash('sha256', text.isWellFormed() ? text : JSON.stringify(text), 'hex').slice(0, hashLength);
}
