/** The text that names callers in rules and limits: `everyone`, `user:ISSUER|SUBJECT`, `key:SUBJECT`, `group:NAME`, `tenant:NAME`, `client:ID`, `scope:NAME`. */

const kinds = ['user', 'key', 'group', 'tenant', 'client', 'scope'] as const;

/** What is wrong with such a text, for the operator; undefined where nothing is. */
export function whoProblem(text: string): string | undefined {
  if (text === 'everyone') return undefined;
  const kind = kinds.find((each) => text.startsWith(`${each}:`));
  if (kind === undefined) return `expected "everyone", or one of ${kinds.map((each) => `"${each}:…"`).join(', ')}`;
  const value = text.slice(kind.length + 1);
  if (value.trim() === '') return `expected a name after "${kind}:"`;
  if (value !== value.trim()) return `expected no blanks around the name: write "${kind}:${value.trim()}"`;
  return kind === 'user' && !value.includes('|')
    ? 'expected "user:ISSUER|SUBJECT"; an API key is "key:SUBJECT"'
    : undefined;
}
