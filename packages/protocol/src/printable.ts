/** Text that somebody outside wrote, made fit for a terminal, a log line or an error of ours. */

/** C0 and C1 controls, and the marks that turn the direction of text around: they move cursors, retitle windows and hide words. */
// oxlint-disable-next-line no-control-regex -- these characters are what it is about.
const unprintable = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]+/g;

const defaultMaxLength = 300;

/**
 * One line without control characters.
 * @param maxLength characters kept; what is cut off is shown as "…".
 */
export function printable(text: string, maxLength = defaultMaxLength): string {
  // Cut first: a server may have sent megabytes.
  const line = text.slice(0, maxLength + 1).replace(unprintable, ' ').trim();
  return text.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}
