/** The callers of a rule, as the configuration writes them, and whether one of them matches. */
import {
  claimIn,
  claimProblem,
  keyIssuer,
  starred,
  whoProblem,
  withIssuer,
  type Actor,
  type Facts,
} from '@omnibus/protocol';

/** A text, or a list of which one must match. */
type Texts = string | readonly string[];

/** Several properties that must all match. */
export interface WhoParts {
  /** `ISSUER|SUBJECT`, exact. */
  readonly user?: Texts | undefined;
  /** The subject of an API key. */
  readonly key?: Texts | undefined;
  /** `NAME`, or `ISSUER|NAME` for a group of that issuer; `*` in a name stands for any text. With `tenant`, a group of that tenant; alone, a group of callers without a tenant, since two tenants may have groups of the same name. */
  readonly group?: Texts | undefined;
  readonly tenant?: Texts | undefined;
  /** The client of the token: `ID`, or `ISSUER|ID`. */
  readonly client?: Texts | undefined;
  /** The name of an agent of the gateway's own authorization server. One that acts for a user counts only where a match counts against the caller; `via` names it elsewhere. */
  readonly agent?: Texts | undefined;
  /** `NAME`, or `ISSUER|NAME`. */
  readonly scope?: Texts | undefined;
  /** `NAME=VALUE` of a claim that the caller's issuer passes on (`claims`); `*` in a value stands for any text. A caller without the claim does not match. */
  readonly claim?: Texts | undefined;
  /** A grant for a time (`access.grants`) that the caller has now. */
  readonly grant?: Texts | undefined;
  /** Agents acting for the user: `any`, `agent:NAME` of the gateway's own authorization server, `ISSUER|SUBJECT` of another one, or `client:ID`. */
  readonly via?: Texts | undefined;
}

/** `everyone`, `known`, `user:ISSUER|SUBJECT`, `key:SUBJECT`, `group:NAME`, `tenant:NAME`, `client:ID`, `agent:NAME`, `scope:NAME`, `claim:NAME=VALUE`, `grant:NAME`; or several that must all match; or a list of which one must match. */
export type Who = string | WhoParts | readonly (string | WhoParts)[];

/** The caller; undefined for an anonymous one. */
export type WhoFacts = Facts | undefined;

export type WhoTest = (facts: WhoFacts) => boolean;

/**
 * @param isAgainst whether a match counts against the caller, as in a rule that denies: of a chain of agents, one match is enough then.
 * @throws {Error} with a message for the operator when a text has none of the known forms.
 */
export function matchesWho(who: Who, isAgainst: boolean): WhoTest {
  const tests = (typeof who === 'string' || !isList(who) ? [who] : who).map((each) =>
    typeof each === 'string' ? textTest(each, isAgainst) : partsTest(each, isAgainst),
  );
  return tests.length === 1 ? (tests[0] as WhoTest) : (facts) => tests.some((test) => test(facts));
}

/** Whether a rule is about agents, and so does not apply to a user that asks for himself. */
export function namesAgents(who: Who): boolean {
  return (typeof who === 'string' || !isList(who) ? [who] : who).some(
    (each) => typeof each !== 'string' && each.via !== undefined,
  );
}

/** The clients that count as agents because rules name them under `via`. */
export function agentClients(who: Who): readonly string[] {
  return (typeof who === 'string' || !isList(who) ? [who] : who)
    .flatMap((each) => (typeof each === 'string' ? [] : textsOf(each.via)))
    .filter((via) => via.startsWith(clientMark))
    .map((via) => withIssuer(via.slice(clientMark.length)).name);
}

const clientMark = 'client:';
const agentMark = 'agent:';

function textTest(text: string, isAgainst: boolean): WhoTest {
  const problem = whoProblem(text);
  if (problem !== undefined) throw new Error(problem);
  if (text === 'everyone') return () => true;
  if (text === 'known') return (facts) => facts !== undefined;
  const at = text.indexOf(':');
  return partsTest({ [text.slice(0, at)]: text.slice(at + 1) }, isAgainst);
}

/** The problem of properties that must all match, for the operator. */
function partsProblem(parts: WhoParts): string | undefined {
  const named = Object.entries(parts).filter((entry): entry is [string, Texts] => entry[1] !== undefined);
  if (named.length === 0)
    return 'names no caller: expected `user`, `key`, `group`, `tenant`, `client`, `agent`, `scope`, `claim`, `grant` or `via`';
  for (const [part, given] of named) {
    const texts = textsOf(given);
    if (texts.length === 0) return `\`${part}\` is empty, so it names no caller`;
    for (const text of texts) {
      if (text !== text.trim()) return `expected no blanks around a name: write \`${part}: ${text.trim()}\``;
      if (part === 'user' && !text.includes('|'))
        return `expected \`user: "ISSUER|SUBJECT"\`, got ${JSON.stringify(text)}; an API key is \`key\``;
      const claim = part === 'claim' ? claimProblem(text) : undefined;
      if (claim !== undefined) return claim;
      const { name } = withIssuer(text);
      if (name.trim() === '') return `expected a name after the issuer in \`${part}\``;
      const isNamed = text.includes('|') || [clientMark, agentMark].some((mark) => text.startsWith(mark));
      if (part === 'via' && text !== 'any' && !isNamed)
        return `expected \`via\` with "any", "agent:NAME", "ISSUER|SUBJECT" or "client:ID", got ${JSON.stringify(text)}`;
    }
  }
  return undefined;
}

/** @throws {Error} with a message for the operator when they can match no caller. */
function partsTest(parts: WhoParts, isAgainst: boolean): WhoTest {
  const problem = partsProblem(parts);
  if (problem !== undefined) throw new Error(problem);
  const { user, key, group, tenant, client, agent, scope, claim, grant, via } = parts;
  const tests: ((facts: Facts) => boolean)[] = [];
  const wanted = (texts: Texts | undefined, test: (values: readonly string[], facts: Facts) => boolean): void => {
    if (texts === undefined) return;
    const values = textsOf(texts);
    tests.push((facts) => test(values, facts));
  };
  wanted(user, (values, { issuer, subject }) => values.includes(`${issuer}|${subject}`));
  wanted(key, (values, { issuer, subject }) => issuer === keyIssuer && values.includes(subject));
  wanted(tenant, (values, facts) => facts.tenant !== undefined && values.includes(facts.tenant));
  const issued = (texts: Texts | undefined, namesOf: (facts: Facts) => readonly string[]): void => {
    if (texts === undefined) return;
    const values = textsOf(texts).map((text) => withIssuer(text));
    tests.push((facts) =>
      values.some(
        ({ issuer, name }) => (issuer === undefined || issuer === facts.issuer) && namesOf(facts).includes(name),
      ),
    );
  };
  if (group !== undefined) tests.push(groupTest(textsOf(group), tenant !== undefined));
  if (claim !== undefined) tests.push(claimTest(textsOf(claim)));
  wanted(agent, isAgainst ? isAlsoAgent : isAgent);
  wanted(grant, (values, { grants = [] }) => grants.some((each) => values.includes(each)));
  issued(client, ({ client: id }) => (id === undefined ? [] : [id]));
  issued(scope, ({ scopes }) => scopes);
  wanted(via, isAgainst ? actsAlsoVia : actsVia);
  return (facts) => facts !== undefined && tests.every((test) => test(facts));
}

/** @param hasTenant whether the rule names a tenant; without one, it is about groups of callers that have none. */
function groupTest(texts: readonly string[], hasTenant: boolean): (facts: Facts) => boolean {
  const wanted = texts.map((text) => {
    const { issuer, name } = withIssuer(text);
    return { issuer, fits: starred(name) };
  });
  return (facts) =>
    (facts.tenant === undefined || hasTenant) &&
    wanted.some(({ issuer, fits }) => (issuer === undefined || issuer === facts.issuer) && facts.groups.some(fits));
}

function claimTest(texts: readonly string[]): (facts: Facts) => boolean {
  const wanted = texts.map((text) => {
    const { name, value } = claimIn(text);
    return { name, fits: starred(value) };
  });
  return ({ claims = {} }) =>
    wanted.some(({ name, fits }) => Object.hasOwn(claims, name) && fits(claims[name] as string));
}

function isAgent(names: readonly string[], { agent, actors }: Facts): boolean {
  return agent !== undefined && actors.length === 0 && names.includes(agent);
}

/** Of a chain of agents, it is sufficient that one is named. */
function isAlsoAgent(names: readonly string[], { agent, actors }: Facts): boolean {
  return (
    (agent !== undefined && names.includes(agent)) ||
    actors.some(({ grant, subject }) => grant !== undefined && names.includes(subject.slice(agentMark.length)))
  );
}

/** Each agent that acts for the subject must be named; where none acts, the client must be. */
function actsVia(values: readonly string[], facts: Facts): boolean {
  return facts.actors.length > 0 ? facts.actors.every((actor) => isNamed(values, actor)) : isClientNamed(values, facts);
}

/** It is sufficient that one of the agents that act for the subject, or the client, is named, so that a refusal cannot be evaded by a further agent. */
function actsAlsoVia(values: readonly string[], facts: Facts): boolean {
  return facts.actors.some((actor) => isNamed(values, actor)) || isClientNamed(values, facts);
}

const isNamed = (values: readonly string[], actor: Actor): boolean =>
  values.includes('any') ||
  values.includes(nameOf(actor)) ||
  (actor.grant !== undefined && values.includes(actor.subject));
const isClientNamed = (values: readonly string[], { client, issuer }: Facts): boolean =>
  client !== undefined &&
  (values.includes(`${clientMark}${client}`) || values.includes(`${clientMark}${issuer}|${client}`));

const nameOf = ({ issuer, subject }: Actor): string => `${issuer}|${subject}`;
const textsOf = (texts: Texts | undefined): readonly string[] =>
  texts === undefined ? [] : typeof texts === 'string' ? [texts] : texts;
const isList = (who: WhoParts | readonly (string | WhoParts)[]): who is readonly (string | WhoParts)[] =>
  Array.isArray(who);
