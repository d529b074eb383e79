/** Names as a server may read them that reads names loosely. */

/** By list, so that a client that asks for one unknown name after the other has each list read once. */
const bareNames = new WeakMap<readonly { readonly name: string }[], ReadonlySet<string>>();

export function bareNamesOf(list: readonly { readonly name: string }[]): ReadonlySet<string> {
  const known = bareNames.get(list) ?? new Set(list.map((entry) => bare(entry.name)));
  bareNames.set(list, known);
  return known;
}

/** A name without what a server may ignore in it. */
export const bare = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
