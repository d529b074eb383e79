/** The HTTP headers that a person gives with `--header`. They often are secrets, so messages name the problem of one without it. */

/** A name of RFC 9110 (5.1), a colon, and a value without characters that end a line. */
const shape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*:[^\r\n\0]*$/;

/** The problem of the given lines, in words for the user; undefined if there is none. */
export function headerProblem(lines: readonly string[]): string | undefined {
  const index = lines.findIndex((line) => !shape.test(line));
  if (index === -1) return undefined;
  const which = lines.length === 1 ? 'the given one' : `number ${index + 1}`;
  const [name = ''] = (lines[index] as string).split(':', 1);
  return `--header: expected "Name: value"; ${which} ${lines[index]?.includes(':') !== true ? 'has no colon' : name.trim() === '' ? 'has no name' : 'has characters that a header cannot have'}`;
}

/** Headers by name. @param lines for which `headerProblem` finds nothing. */
export function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}
