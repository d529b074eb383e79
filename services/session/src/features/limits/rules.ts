/** The rules of `limits.rules`, compiled: to which callers and things each applies, and which calls share one budget. */
import { trustedHints, type Config } from '@omnibus/config';
import type { View } from '@omnibus/catalog';
import { compileSelector, coversForms, hintsVerdict, matchesWho, type Hint, type WhoTest } from '@omnibus/policy';
import type { Caller, Facts, ServerName } from '@omnibus/protocol';
import { shareOf } from '../../call/client-of.ts';
import type { Quota } from './quotas.ts';
import type { Rate } from './rates.ts';

/** A request that is about to be sent to a server, with the server's own name of the tool, prompt or resource. */
export interface LimitedRequest {
  readonly caller: Caller;
  readonly facts: Facts | undefined;
  readonly server: ServerName;
  readonly kind: 'tool' | 'prompt' | 'resource' | 'server';
  readonly name: string;
  /** The lists of the caller, which have the annotations of a tool. */
  readonly view?: Pick<View, 'toolOf'> | undefined;
  /** Set for fetches of a task's result; its call was counted before: only its size counts (`bytes`). */
  readonly isFetch?: true;
  /**
   * Set for calls of own tools that make calls (`ownServer`).
   * Only rules that name such a tool count it: others count the calls that it makes.
   */
  readonly isRun?: true;
}

type RuleSettings = Config['limits']['rules'][number];

export interface LimitRule {
  /** Letters, digits, "_" and "-". */
  readonly id: string;
  readonly who: WhoTest;
  /** Undefined if it covers every request. */
  readonly covers: ((request: LimitedRequest) => boolean) | undefined;
  /** The key of the budget that a request counts for. */
  readonly keyOf: (request: LimitedRequest) => string;
  readonly rate: Rate | undefined;
  readonly concurrency: number | undefined;
  readonly quota: Quota | undefined;
  readonly bytes: Quota | undefined;
  /** The rule in words. */
  readonly words: string;
}

const secondMs = 1_000;
const everyMs = { s: secondMs, min: 60 * secondMs, h: 3_600 * secondMs } as const;

/** @param servers of the configuration, which say whose annotations of tools are trusted. */
export function compileRules(rules: readonly RuleSettings[], servers: Config['mcpServers']): readonly LimitRule[] {
  return rules.map((rule, index) => {
    const { id = `rule-${index + 1}`, rate, burst, concurrency, quota, bytes, onUnknown, because } = rule;
    const quotaOf = (given: RuleSettings['quota']): Quota | undefined =>
      given === undefined ? undefined : { ...given, onUnknown };
    return {
      id,
      concurrency,
      who: matchesWho(rule.who, true),
      covers: coveredBy(rule, servers),
      keyOf: keyBy(id, rule.per),
      rate:
        rate === undefined
          ? undefined
          : { everyMs: everyMs[rate.per] / rate.count, burst: burst ?? Math.max(1, rate.count) },
      quota: quotaOf(quota),
      bytes: quotaOf(bytes),
      words: because === undefined ? `the limit "${id}"` : `the limit "${id}" (${because})`,
    };
  });
}

/** `server/tool`, `prompt:server/name`, `resource:server/uri` as globs, the name of a server, or `*`. */
function coveredBy({ what, only }: RuleSettings, servers: Config['mcpServers']): LimitRule['covers'] {
  const selectors = what.includes('*') ? undefined : what.map((text) => compileSelector(text));
  const isNamed = (request: LimitedRequest): boolean =>
    selectors === undefined
      ? request.isRun !== true
      : coversForms(selectors, request, `${request.server}/${request.name}`, false);
  if (only === undefined) return selectors === undefined ? undefined : isNamed;
  const wanted = [only].flat();
  return (request) => isNamed(request) && mayBe(wanted, request, servers);
}

/**
 * Whether a tool may be of a kind. Annotations are a claim of the server: they count if the operator wrote or believes them. Any other tool may be of every
 * kind. A tool of a believed server without annotations has the defaults of the specification. A method that no revision knows may have any effect. Prompts
 * and resources have no annotations.
 */
function mayBe(
  wanted: readonly Hint[],
  { kind, server, name, view }: LimitedRequest,
  servers: Config['mcpServers'],
): boolean {
  if (kind !== 'tool') return kind === 'server';
  const settings = Object.hasOwn(servers, server) ? servers[server] : undefined;
  const annotations =
    settings === undefined ? undefined : trustedHints(settings, name, view?.toolOf(server, name)?.['annotations']);
  return hintsVerdict(wanted, annotations) !== 'no';
}

function keyBy(id: string, per: RuleSettings['per']): LimitRule['keyOf'] {
  const parts = [per]
    .flat()
    .filter((each) => each !== 'everyone')
    .map((each) => partOf[each]);
  // Parts are preceded by their lengths, so that different parts never give the same key.
  return (request) => {
    let key = id;
    for (const part of parts) {
      const text = part(request);
      key += ` ${text.length}:${text}`;
    }
    return key;
  };
}

const partOf: Readonly<
  Record<'principal' | 'tenant' | 'client' | 'server' | 'tool', (request: LimitedRequest) => string>
> = {
  principal: ({ caller, facts }) => shareOf(caller, facts),
  tenant: ({ facts }) => facts?.tenant ?? '',
  // Each issuer names its own clients.
  client: ({ facts }) => (facts?.client === undefined ? '' : `${facts.issuer}|${facts.client}`),
  server: ({ server }) => server,
  tool: ({ server, kind, name }) => `${kind} ${server}/${name}`,
};
