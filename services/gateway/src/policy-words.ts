/** Callers and things as they are written on the command line and in test cases, in the syntax of the rules. */
import type { Target } from '@omnibus/policy';
import type { Facts, Principal } from '@omnibus/protocol';
import { z } from 'zod';

const texts = z.union([z.string(), z.array(z.string())]).optional();
/** A caller in a test case, or in a question to the API. */
export const person = z.union([z.string(), z.strictObject({ user: z.string().optional(), key: z.string().optional(), group: texts, tenant: z.string().optional(), client: z.string().optional(), scope: texts, via: texts })]);

type Texts = string | readonly string[] | undefined;

/** A caller, by what is known of it. */
export type Person = string | {
  readonly user?: string | undefined; readonly key?: string | undefined; readonly group?: Texts; readonly tenant?: string | undefined; readonly client?: string | undefined; readonly scope?: Texts; readonly via?: Texts;
};

/** @param person `nobody` for an anonymous caller; else as in a rule: `group:eng` is a caller of whom only that group is known. @returns undefined for `nobody`. */
export function personOf(person: Person): Facts | undefined {
  if (person === 'nobody') return undefined;
  const at = typeof person === 'string' ? person.indexOf(':') : -1;
  const parts = typeof person !== 'string' ? person : at === -1 ? { user: person } : { [person.slice(0, at)]: person.slice(at + 1) };
  const { user, key, group, tenant, client, scope, via } = parts as Exclude<Person, string>;
  const [issuer, subject] = key === undefined ? split(user ?? 'somebody') : ['omnibus:keys', key];
  const agents = listOf(via);
  return {
    principal: 'p_test' as Principal, issuer, subject, tenant, groups: listOf(group), scopes: listOf(scope), expiresAt: undefined, key: undefined,
    client: client ?? agents.find((each) => each.startsWith('client:'))?.slice('client:'.length),
    actors: agents.filter((each) => !each.startsWith('client:')).map((each) => {
      const [of, name] = split(each);
      return { issuer: of, subject: name };
    }),
  };
}

export function whoText(person: Person): string {
  return typeof person === 'string' ? person : Object.entries(person).map(([kind, value]) => `${kind}:${[value].flat().join(',')}`).join(' ');
}

/** @param text `server/tool`, `prompt:server/name` or `resource:server/uri`. */
export function targetOf(text: string): Target {
  const [, kind = 'tool', server = '', name = ''] = /^(?:(tool|prompt|resource):)?([^/]*)\/?(.*)$/su.exec(text) ?? [];
  return { kind: kind as Target['kind'], server, name };
}

/** Splits `ISSUER|SUBJECT` at the first bar: issuers are URLs, which have none. */
function split(text: string): readonly [string, string] {
  const at = text.indexOf('|');
  return at === -1 ? ['', text] : [text.slice(0, at), text.slice(at + 1)];
}

const listOf = (texts: Texts): readonly string[] => (texts === undefined ? [] : typeof texts === 'string' ? [texts] : texts);
