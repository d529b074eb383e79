/**
 * The text that names callers in rules and limits: `everyone`, `known` for every authenticated caller, `user:ISSUER|SUBJECT`, `key:SUBJECT`, `group:NAME`, `tenant:NAME`,
 * `client:ID`, `agent:NAME`, `scope:NAME`, `claim:NAME=VALUE`, `grant:NAME` for a holder of a grant (access rules only). Issuers give groups, clients and scopes names of their own: `group:ISSUER|NAME` is the one of that issuer. In the name of a
 * group and the value of a claim, `*` stands for any text.
 */

const kinds = ['user', 'key', 'group', 'tenant', 'client', 'agent', 'scope', 'claim', 'grant'] as const;

/** The problem of such a text, for the operator; undefined if there is none. */
export function whoProblem(text: string): string | undefined {
  if (text === 'everyone' || text === 'known') return undefined;
  const kind = kinds.find((each) => text.startsWith(`${each}:`));
  if (kind === undefined)
    return `expected "everyone", "known", or one of ${kinds.map((each) => `"${each}:…"`).join(', ')}${nearestWho(text)}`;
  const value = text.slice(kind.length + 1);
  if (value.trim() === '') return `expected a name after "${kind}:"`;
  if (value !== value.trim())
    return `expected no blanks around the name: write ${JSON.stringify(`${kind}:${value.trim()}`)}`;
  if (kind === 'claim') return claimProblem(value);
  if (withIssuer(value).name.trim() === '') return `expected a name after the issuer: "${kind}:ISSUER|NAME"`;
  return kind === 'user' && !value.includes('|')
    ? 'expected "user:ISSUER|SUBJECT"; an API key is "key:SUBJECT"'
    : undefined;
}

/** What was probably meant by a text without the kind of its name, as the end of a sentence. */
function nearestWho(text: string): string {
  if (/^(\*|all|any|any(body|one)|every(body|thing)|public)$/i.test(text)) return ': write "everyone"';
  return /^[\w.@-]+$/.test(text)
    ? `: write "key:${text}" for the holder of an API key, or "user:ISSUER|${text}" for a person who signs in`
    : '';
}

/** The problem of `NAME=VALUE`, for the operator; undefined if there is none. */
export function claimProblem(text: string): string | undefined {
  const { name, value } = claimIn(text);
  return name === '' || value === ''
    ? `expected the name of a claim, "=" and its value, such as "claim:department=sales", got ${JSON.stringify(text)}`
    : undefined;
}

/** Reads `NAME=VALUE`: the name of a claim has no "=", and its value may have some. */
export function claimIn(text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf('=');
  return at === -1 ? { name: '', value: '' } : { name: text.slice(0, at).trim(), value: text.slice(at + 1).trim() };
}

export interface IssuedName {
  /** Undefined where a name of any issuer is meant. */
  readonly issuer: string | undefined;
  readonly name: string;
}

/** An issuer is a URI, so a name with a bar and no URI in front of it is a name. */
const issued = /^([A-Za-z][A-Za-z0-9+.-]*:[^|]+)\|(.*)$/su;

/** Reads `ISSUER|NAME`, or a name of any issuer. */
export function withIssuer(text: string): IssuedName {
  const [, issuer, name = text] = issued.exec(text) ?? [];
  return { issuer, name };
}
