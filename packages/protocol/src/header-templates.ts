/**
 * Headers of a server that name its caller: `{principal.subject}` in a configured value stands for a proven fact about the caller. A fact never becomes
 * more than the value, or the part of a value, that it stands for.
 */
import type { Who } from './exchange.ts';

const placeholder = /\{principal\.([^{}]*)\}/g;
const simple: ReadonlySet<string> = new Set(['subject', 'issuer', 'tenant', 'groups']);
/** Bound on the characters of a header, below the limit of servers for all headers together. */
const maxCharacters = 4_096;
/** Texts that a header can carry and no proxy changes: visible ASCII characters and single blanks between them (RFC 9110, 5.5). */
const carried = /^[\x21-\x7E]+(?: [\x21-\x7E]+)*$/;
/** Beside other text, a fact has no character that might end it, such as those of lists and parameters. */
const plain = /^[\w.~@:/|+-]+$/;

/** What becomes of a header with a fact that a caller does not have. */
export type AbsentFacts = 'refuse' | 'omit';

export type CallerHeaders =
  | { readonly headers: Readonly<Record<string, string>> }
  | {
      /** The header that cannot be sent, the fact in it, and the problem, without the value. */
      readonly header: string;
      readonly fact: string;
      readonly problem: string;
    };

export function isTemplate(value: string): boolean {
  return value.includes('{principal.');
}

/** A template without the text around its placeholders, which may be secret. */
export function placeholdersOf(template: string): string {
  return [...template.matchAll(placeholder)].map(([whole]) => whole).join('');
}

export function hasTemplates(headers: Readonly<Record<string, string>>): boolean {
  return Object.values(headers).some(isTemplate);
}

/** The problem of a template, in words. @param claims that issuers are configured to pass on. */
export function templateProblem(value: string, claims: ReadonlySet<string>): string | undefined {
  const known =
    'expected {principal.subject}, {principal.issuer}, {principal.tenant}, {principal.groups} or {principal.claims.NAME}';
  if (isTemplate(value.replaceAll(placeholder, ''))) return known;
  for (const [whole, fact = ''] of value.matchAll(placeholder)) {
    const claim = claimIn(fact);
    if (claim === undefined ? !simple.has(fact) : claim === '') return `${whole} is no fact about a caller: ${known}`;
    if (claim !== undefined && !claims.has(claim))
      return `${whole} is passed on by no issuer: name the claim under \`claims\` of an entry of \`auth.issuers\``;
  }
  return undefined;
}

/** The headers that are the same for every caller. */
export function withoutTemplates(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => !isTemplate(value)));
}

/** The headers for one caller. @param who undefined for an anonymous caller. */
export function headersFor(
  headers: Readonly<Record<string, string>>,
  who: Who | undefined,
  absent: AbsentFacts,
): CallerHeaders {
  const made: Record<string, string> = {};
  for (const [header, template] of Object.entries(headers)) {
    const value = isTemplate(template) ? filled(template, who, carried) : { text: template };
    if ('text' in value) made[header] = value.text;
    else if (absent === 'refuse' || !value.isAbsent) return { header, fact: value.fact, problem: value.problem };
  }
  return { headers: made };
}

type Filled =
  | { readonly text: string }
  | { readonly fact: string; readonly problem: string; readonly isAbsent: boolean };

/** Any text that a JSON string can hold. */
const anyText = /^[^]*$/;

/** A configured argument of a tool for one caller. @param who undefined for an anonymous caller. */
export function argumentFor(
  template: string,
  who: Who | undefined,
): { readonly text: string } | { readonly fact: string; readonly problem: string } {
  return filled(template, who, anyText);
}

/** @param whole texts that a fact without other text around it may have. */
function filled(template: string, who: Who | undefined, whole: RegExp): Filled {
  let wrong: Exclude<Filled, { text: string }> | undefined;
  const text = template.replaceAll(placeholder, (found, fact: string) => {
    const value = factOf(fact, who);
    const isWhole = found === template;
    if (value === undefined || value === '') wrong ??= { fact, isAbsent: true, problem: 'the caller has no such fact' };
    else if (!(isWhole ? whole : plain).test(value))
      wrong ??= {
        fact,
        isAbsent: false,
        problem: isWhole
          ? 'it has characters that no header carries unchanged'
          : 'it has characters that could end it in the middle of a header',
      };
    return value ?? '';
  });
  if (wrong === undefined && text.length > maxCharacters)
    return { fact: 'all', isAbsent: false, problem: `it has more than ${maxCharacters} characters` };
  return wrong ?? { text };
}

function factOf(fact: string, who: Who | undefined): string | undefined {
  if (who === undefined) return undefined;
  const claim = claimIn(fact);
  if (claim !== undefined) return who.claims?.[claim];
  if (fact === 'subject' || fact === 'issuer' || fact === 'tenant') return who[fact];
  // A group with a comma would become two. A line break in the value is refused.
  return who.groups.some((group) => group.includes(',')) ? '\n' : who.groups.join(',');
}

function claimIn(fact: string): string | undefined {
  return fact.startsWith('claims.') ? fact.slice('claims.'.length) : undefined;
}
