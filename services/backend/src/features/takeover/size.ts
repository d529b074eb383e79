/**
 * Estimates the bytes of a JSON value from its strings and members.
 * @param most the walk ends as soon as the sum is greater.
 * @returns the sum, or some number greater than `most`.
 */
export function sizeUpTo(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 8;
  let sum = 2;
  for (const key in value) {
    sum += key.length + 4 + sizeUpTo((value as Record<string, unknown>)[key], most - sum);
    if (sum > most) break;
  }
  return sum;
}
