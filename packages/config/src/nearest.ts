/** Finds the word that was probably meant by a mistyped one. */
import { distance } from 'fastest-levenshtein';

/** The most similar of several words; undefined where none is similar: two letters may differ, one of a short word, or a third of them, and not all. */
export function nearestOf(word: string, words: Iterable<string>): string | undefined {
  let candidate: { readonly name: string; readonly distance: number } | undefined;
  for (const name of words) {
    const found = { name, distance: mistyped(word.toLowerCase(), name.toLowerCase()) };
    if (candidate === undefined || found.distance < candidate.distance) candidate = found;
  }
  return candidate !== undefined &&
    candidate.distance <= (word.length <= 4 ? 1 : Math.max(2, word.length / 3)) &&
    candidate.distance < word.length
    ? candidate.name
    : undefined;
}

/** The edit distance of two words, where words of the same letters in another order have a distance of 1 at most. */
function mistyped(one: string, other: string): number {
  const letters = (word: string): string => word.split('').toSorted().join('');
  return letters(one) === letters(other) ? Math.min(1, distance(one, other)) : distance(one, other);
}
