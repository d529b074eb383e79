/** A number with its noun. @param one the word for one; more get an `s`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
