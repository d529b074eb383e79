import { wire, type MayHaveBytes } from '@omnibus/protocol';

/**
 * Estimates the bytes of a JSON value from its strings and members. A large result that no code has read is not read for this: it holds the chunk in which it came.
 * @param most the walk ends as soon as the sum is greater.
 * @returns the sum, or some number greater than `most`.
 */
export function sizeUpTo(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 8;
  const unread = (value as MayHaveBytes)[wire]?.bytes;
  let sum = 2;
  if (unread !== undefined) {
    for (const part of unread.parts) sum += typeof part === 'string' ? part.length : part.buffer.byteLength;
    return sum;
  }
  for (const key in value) {
    sum += key.length + 4 + sizeUpTo((value as Record<string, unknown>)[key], most - sum);
    if (sum > most) break;
  }
  return sum;
}
