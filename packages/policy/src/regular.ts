/** Regular expressions of rules, by RE2: their time grows with the length of the text, whatever a caller sends. The module is imported only when a rule has one. */
import { RE2JS } from 're2js';

/** Longest text that is compared, in UTF-16 units; a longer one cannot be judged. */
const maxTextLength = 4_096;
/** Bound on the compiled expression: with the longest text, a comparison takes some 40 ms at most. */
const maxProgramSize = 1_000;

/**
 * @param pattern in the syntax of RE2, without look-around and back-references.
 * @returns whether a whole text matches; undefined for a text that is too long to be compared.
 * @throws {Error} with a message for the operator.
 */
export function compileRegular(pattern: string): (text: string) => boolean | undefined {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    throw new Error(
      `${JSON.stringify(pattern)} is no regular expression of RE2, which has no look-around and no back-references: ${(error as Error).message}`,
      { cause: error },
    );
  }
  if (compiled.programSize() > maxProgramSize)
    throw new Error(`${JSON.stringify(pattern)} is too large: use smaller counts, or \`pattern\` with a glob`);
  return (text) => (text.length > maxTextLength ? undefined : compiled.matches(text));
}
