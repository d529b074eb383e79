/** Finds names that several issuers may give, and that rules, roles and headers take for one. */
import type { Config } from '@omnibus/config';
import { isTemplate, keyIssuer, placeholdersOf, withIssuer } from '@omnibus/protocol';

export interface IdentityWarning {
  /** The place in the configuration. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type Ways = Exclude<NonNullable<Config['auth']>, 'none'>;
type Rule = NonNullable<Config['access']>['rules'][number];

/** In words: the sources of callers' names, and whether they name groups. The operator gives API keys their groups. */
interface Source {
  readonly words: string;
  readonly issuer: string;
  readonly saysGroups: boolean;
}

/** Those that name callers without a tenant; facts of callers of a tenant count in that tenant only. */
function sourcesOf({ publicUrl }: Config, ways: Ways): readonly Source[] {
  const { issuers, keys, proxy, clientCertificates, kubernetes, server } = ways;
  const source = (issuer: string, words = issuer): Source => ({ issuer, words, saysGroups: issuer !== keyIssuer });
  return [
    ...issuers
      .filter(({ tenant, ofTenant }) => tenant === undefined && ofTenant === undefined)
      .map(({ issuer }) => source(issuer)),
    ...(keys === undefined ? [] : [source(keyIssuer, 'API keys')]),
    ...(proxy === undefined || proxy.tenantHeader !== undefined ? [] : [source('omnibus:proxy', 'the proxy')]),
    ...(clientCertificates === undefined ? [] : [source('omnibus:certificates', 'client certificates')]),
    ...(kubernetes === undefined ? [] : [source(kubernetes.issuer ?? 'kubernetes', 'service accounts')]),
    ...(server === undefined || publicUrl === undefined ? [] : [source(publicUrl, 'users of the gateway')]),
  ];
}

/** Warnings where equal names of several issuers count as one. */
export function issuerWarnings(config: Config): readonly IdentityWarning[] {
  const { auth, access, mcpServers } = config;
  if (auth === undefined || auth === 'none') return [];
  const sources = sourcesOf(config, auth);
  const ofGroups = sources.filter(({ saysGroups }) => saysGroups);
  return [
    ...(ofGroups.length < 2 ? [] : groupWarnings(auth, access?.rules ?? [], ofGroups)),
    ...(sources.length < 2
      ? []
      : Object.entries(mcpServers).flatMap(([name, server]) => headerWarnings(name, headersOf(server), sources))),
    ...(sources.length < 2 ? [] : approvalWarnings(access?.rules ?? [], sources)),
  ];
}

const wordsOf = (sources: readonly Source[]): string => sources.map(({ words }) => words).join(', ');

/** Groups, clients and scopes that count for a caller, whichever issuer says them. */
function groupWarnings({ admin }: Ways, rules: readonly Rule[], sources: readonly Source[]): IdentityWarning[] {
  const of = (path: IdentityWarning['path'], names: readonly string[]): IdentityWarning[] =>
    names.length === 0
      ? []
      : [
          {
            path,
            message: `${names.join(', ')} may be said by each of ${wordsOf(sources)}; write "${names[0]?.replace(':', ':ISSUER|') ?? ''}" if one of them is meant`,
          },
        ];
  const inText = (who: string): string[] => (/^(?:group|client|scope):/.test(who) && isOfAny(who) ? [who] : []);
  return [
    ...rules.flatMap(({ who, except, deny, redact, approvers }, index) => [
      // An exception from a rule that denies counts for the caller, as does a rule that allows.
      ...(deny === undefined && redact === undefined
        ? of(['access', 'rules', index, 'who'], namesIn(who))
        : of(['access', 'rules', index, 'except'], namesIn(except))),
      ...of(['access', 'rules', index, 'approvers'], [approvers ?? []].flat().flatMap(inText)),
    ]),
    ...Object.entries(admin?.roles ?? {}).flatMap(([role, people]) =>
      of(['auth', 'admin', 'roles', role], people.flatMap(inText)),
    ),
  ];
}

const isOfAny = (text: string): boolean => withIssuer(text.slice(text.indexOf(':') + 1)).issuer === undefined;

function namesIn(who: Rule['who'] | undefined): readonly string[] {
  return [who ?? []].flat().flatMap((each): readonly string[] => {
    if (typeof each === 'string') return /^(?:group|client|scope):/.test(each) && isOfAny(each) ? [each] : [];
    // With a user or a tenant, the source of names is known.
    if (each.user !== undefined || each.key !== undefined || each.tenant !== undefined) return [];
    return (['group', 'client', 'scope'] as const)
      .flatMap((part) => [each[part] ?? []].flat().map((name) => `${part}:${name}`))
      .filter(isOfAny);
  });
}

function headersOf(server: Config['mcpServers'][string]): Readonly<Record<string, string>> {
  return 'headers' in server ? (server.headers ?? {}) : {};
}

/** A server that gets the name of a caller without its issuer confuses callers of several issuers. */
function headerWarnings(
  server: string,
  headers: Readonly<Record<string, string>>,
  sources: readonly Source[],
): IdentityWarning[] {
  const told = Object.entries(headers).filter(([, value]) => isTemplate(value));
  if (told.some(([, value]) => placeholdersOf(value).includes('{principal.issuer}'))) return [];
  return told
    .filter(([, value]) => placeholdersOf(value).includes('{principal.subject}'))
    .map(([header]) => ({
      path: ['mcpServers', server, 'headers', header],
      message: `the server cannot tell equal names of ${wordsOf(sources)} apart: send it {principal.issuer} too, such as "{principal.issuer}|{principal.subject}"`,
    }));
}

/** No user approves their own calls, as far as the identity is known. */
function approvalWarnings(rules: readonly Rule[], sources: readonly Source[]): IdentityWarning[] {
  return rules.flatMap((rule, index) =>
    isForApprovers(rule)
      ? [
          {
            path: ['access', 'rules', index, 'ask'],
            message: `nothing says that callers known by ${wordsOf(sources)} are one person: somebody with two of these may approve a call of his own. Give approvers one of them only`,
          },
        ]
      : [],
  );
}

/** Whether others than the caller approve. */
export function isForApprovers({ ask, by, approvers }: Pick<Rule, 'ask' | 'by' | 'approvers'>): boolean {
  return ask !== undefined && (by === 'approvers' || (by === undefined && approvers !== undefined));
}
