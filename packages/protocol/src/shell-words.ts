/**
 * The words of a line as a shell reads them, without variables: quotes group, also inside a word, and nothing else is special. A quote that does not end is
 * a character.
 */
export function shellWords(line: string): readonly string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ''),
  );
}

/** Whether a line is one address of a server, and no program with its arguments. */
export function isServerAddress(line: string): boolean {
  return /^[a-z][\w+.-]*:\/\/\S*$/i.test(line.trim());
}
