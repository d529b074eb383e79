/** Callers and things as they are written on the command line and in test cases, in the syntax of the rules. */
import { isIP } from 'node:net';
import { enabledServers, type Config } from '@omnibus/config';
import type { Target } from '@omnibus/policy';
import {
  claimIn,
  claimProblem,
  keyIssuer,
  whoProblem,
  withIssuer,
  type Facts,
  type Principal,
} from '@omnibus/protocol';
import { z } from 'zod';

const texts = z.union([z.string(), z.array(z.string())]).optional();
/** A caller in a test case, or in a question to the API. */
export const person = z.union([
  z.string(),
  z.strictObject({
    user: z.string().optional(),
    key: z.string().optional(),
    group: texts,
    tenant: z.string().optional(),
    client: z.string().optional(),
    agent: z.string().optional(),
    scope: texts,
    claim: texts,
    grant: texts,
    via: texts,
  }),
]);

type Texts = string | readonly string[] | undefined;

export interface PersonParts {
  readonly user?: string | undefined;
  readonly key?: string | undefined;
  readonly group?: Texts;
  readonly tenant?: string | undefined;
  readonly client?: string | undefined;
  readonly agent?: string | undefined;
  readonly scope?: Texts;
  /** `NAME=VALUE`. */
  readonly claim?: Texts;
  /** Grants that the caller has. */
  readonly grant?: Texts;
  readonly via?: Texts;
}

/** A caller, by its known facts. */
export type Person = string | PersonParts;

/** @param person `nobody` for an anonymous caller; else as in a rule: `group:eng` is a caller with only that group known. @returns undefined for `nobody`. */
export function personOf(person: Person): Facts | undefined {
  if (person === 'nobody') return undefined;
  const { user, key, group, tenant, client, agent, scope, claim, grant, via } = partsOf(person);
  const named = [...listOf(group), ...listOf(scope), ...listOf(client)].map((text) => withIssuer(text).issuer);
  const [issuer, subject] =
    key !== undefined
      ? [keyIssuer, key]
      : user !== undefined
        ? split(user)
        : [named.find((each) => each !== undefined) ?? '', agent === undefined ? 'somebody' : `agent:${agent}`];
  const agents = listOf(via);
  return {
    principal: 'p_test' as Principal,
    issuer,
    subject,
    tenant,
    groups: listOf(group).map(nameIn),
    scopes: listOf(scope).map(nameIn),
    ...(claim === undefined
      ? {}
      : {
          claims: Object.fromEntries(
            listOf(claim).map((each) => {
              const { name, value } = claimIn(each);
              return [name, value];
            }),
          ),
        }),
    ...(agent === undefined ? {} : { agent }),
    ...(grant === undefined ? {} : { grants: listOf(grant) }),
    expiresAt: undefined,
    key: undefined,
    client:
      client === undefined
        ? agents.find((each) => each.startsWith('client:'))?.slice('client:'.length)
        : nameIn(client),
    actors: agents
      .filter((each) => !each.startsWith('client:'))
      .map((each) => {
        if (each.startsWith('agent:')) return { issuer: '', subject: each, grant: '' };
        const [of, name] = split(each);
        return { issuer: of, subject: name };
      }),
  };
}

/** The known facts of a caller in text form, as its parts. */
export function partsOf(person: Person): PersonParts {
  if (typeof person !== 'string') return person;
  const at = person.indexOf(':');
  return person === 'nobody' ? {} : at === -1 ? { user: person } : { [person.slice(0, at)]: person.slice(at + 1) };
}

/** Why a text names no caller that can be tried, for the operator; undefined where it names one. */
export function personProblem(person: Person): string | undefined {
  if (person === 'nobody') return undefined;
  if (person === 'everyone' || person === 'known')
    return 'expected one caller, such as "group:eng"; "nobody" is one without authentication';
  if (typeof person === 'string')
    return whoProblem(person)?.replace('"everyone", "known", or one of', '"nobody", or one of');
  const { user, claim } = person;
  const problem = listOf(claim)
    .map(claimProblem)
    .find((each) => each !== undefined);
  if (problem !== undefined) return `claim: ${problem}`;
  return user === undefined || user.includes('|') ? undefined : 'user: expected "ISSUER|SUBJECT"';
}

export function whoText(person: Person): string {
  return typeof person === 'string'
    ? person
    : Object.entries(person)
        .map(([kind, value]) => `${kind}:${[value].flat().join(',')}`)
        .join(' ');
}

/** @param text `server/tool`, `prompt:server/name` or `resource:server/uri`. */
export function targetOf(text: string): Target {
  const [, kind = 'tool', server = '', name = ''] = /^(?:(tool|prompt|resource):)?([^/]*)\/?(.*)$/su.exec(text) ?? [];
  return { kind: kind as Target['kind'], server, name };
}

/** Why a text names nothing that can be tried at the servers of a configuration: a case about it would tell nothing of the rules. */
export function targetProblem(text: string, config: Config): string | undefined {
  const { kind, server, name } = targetOf(text);
  if (server === '' || name === '')
    return `expected "server/tool", "prompt:server/name" or "resource:server/uri", got ${JSON.stringify(text)}`;
  if (!enabledServers(config).has(server) && !config.discovery.kubernetes.enabled)
    return `there is no server ${JSON.stringify(server)}`;
  return kind !== 'resource' && name.includes('*') ? `"*" stands for no other names here: name one ${kind}` : undefined;
}

/** Why a time or an address cannot be tried. A time without a zone would mean another moment on each machine. */
export function momentProblem(at: Date | string | undefined, from: string | undefined): string | undefined {
  if (
    typeof at === 'string' &&
    (Number.isNaN(Date.parse(at)) || !/^\d{4}-\d\d-\d\d(?:$|.*(?:Z|[+-]\d\d:?\d\d)$)/.test(at))
  )
    return `at: expected a time with its zone, such as "2026-11-23T09:00:00Z" or "2026-11-23T10:00:00+01:00", got ${JSON.stringify(at)}`;
  return from === undefined || isIP(from) !== 0
    ? undefined
    : `from: expected an IP address, got ${JSON.stringify(from)}`;
}

/** Splits `ISSUER|SUBJECT` at the first bar: issuers are URLs, which have none. */
function split(text: string): readonly [string, string] {
  const at = text.indexOf('|');
  return at === -1 ? ['', text] : [text.slice(0, at), text.slice(at + 1)];
}

const nameIn = (text: string): string => withIssuer(text).name;

const listOf = (texts: Texts): readonly string[] =>
  texts === undefined ? [] : typeof texts === 'string' ? [texts] : texts;
