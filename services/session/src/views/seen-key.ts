/** A key for clients at one endpoint that see the same lists: by declared capabilities, identity, and rights. */
import type { Sight } from '@omnibus/catalog';
import type { Declared } from '@omnibus/protocol';

/** @param isOwned whether the lists depend on the user. */
export function seenKey(declared: Declared | undefined, sight: Sight | undefined, isOwned: boolean): string {
  const { key = '', owner } = declared ?? {};
  const whose = isOwned && owner !== undefined ? `${owner} ${key}` : key;
  return sight === undefined ? whose : `${whose}\n${sight.name}`;
}
