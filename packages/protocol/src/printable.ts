/** Makes text from outside safe for a terminal, a log line or an error message. */

/** C0 and C1 controls, and marks that change the direction of text: they move the cursor, change the title of a window, or hide text. */
// oxlint-disable-next-line no-control-regex -- the pattern searches for control characters.
const unprintable = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]+/g;

const defaultMaxLength = 300;

/**
 * One line without control characters.
 * @param maxLength characters; "…" replaces the rest.
 */
export function printable(text: string, maxLength = defaultMaxLength): string {
  // Cut first, since the text may have megabytes.
  const line = text
    .slice(0, maxLength + 1)
    .replace(unprintable, ' ')
    .trim();
  return text.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}
