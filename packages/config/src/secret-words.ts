/** Finds the secrets that stand in the configuration of a server itself, and not as references. */

/** Names of options, variables and parameters with values that count as secrets. */
export const secretName = /pass|pwd|secret|token|key|cred|auth|cookie|session/i;

/** The words of a command that are secrets by the options before them, and those in its addresses. */
export function secretArguments(args: readonly string[]): string[] {
  return args.flatMap((argument, index) => {
    const [, name, value] = /^--?([\w-]+)=(.+)$/.exec(argument) ?? [];
    if (name !== undefined && value !== undefined) return secretName.test(name) ? [value] : [];
    const before = args[index - 1];
    if (before !== undefined && /^--?[\w-]+$/.test(before) && secretName.test(before) && !argument.startsWith('-'))
      return [argument];
    return URL.canParse(argument) ? secretsOfUrl(argument) : [];
  });
}

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // The text has a lone percent sign.
  }
}

/** The secrets in an address: name and password, and the values of its query that look like one; each as it is written, and decoded. */
export function secretsOfUrl(text: string): string[] {
  const { username, password, search, searchParams } = new URL(text);
  const written = search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '');
  const query = [...searchParams].flatMap(([name, value], at) =>
    secretName.test(name) || value.length >= 16 ? [written[at]?.replace(/^[^=]*=?/, '') ?? value, value] : [],
  );
  return [...query, ...[username, password].flatMap((part) => [part, unescape(part)])].filter((part) => part !== '');
}
