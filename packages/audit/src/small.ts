/** Values that may wait until a batch is full: hundreds of large ones would be too much memory. */

/** Bounds of a small value: characters in all its texts, and values. */
const most = { characters: 4_096, values: 32 };

/** Whether a parsed JSON value is small. It takes no longer for one that is not. */
export function isSmall(value: unknown): boolean {
  if (value === undefined) return true;
  const left = { ...most };
  return fits(value, left);
}

function fits(value: unknown, left: { characters: number; values: number }): boolean {
  left.values -= 1;
  if (left.values < 0) return false;
  if (typeof value === 'string') {
    left.characters -= value.length;
    return left.characters >= 0;
  }
  if (typeof value !== 'object' || value === null) return true;
  for (const name in value) {
    left.characters -= name.length;
    if (left.characters < 0 || !fits((value as Readonly<Record<string, unknown>>)[name], left)) return false;
  }
  return true;
}
