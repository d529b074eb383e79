/** The rules of `limits.rules`, compiled: to which callers and things each applies, and which calls share one budget. */
import type { Config } from '@omnibus/config';
import { compileSelector, coversForms, matchesWho, type WhoTest } from '@omnibus/policy';
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
  /** Set for fetches of a task's result; its call was counted before: only its size counts (`bytes`). */
  readonly isFetch?: true;
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

export function compileRules(rules: readonly RuleSettings[]): readonly LimitRule[] {
  return rules.map((rule, index) => {
    const { id = `rule-${index + 1}`, rate, burst, concurrency, quota, bytes, onUnknown, because } = rule;
    const quotaOf = (given: RuleSettings['quota']): Quota | undefined =>
      given === undefined ? undefined : { ...given, onUnknown };
    return {
      id,
      concurrency,
      who: matchesWho(rule.who, true),
      covers: coveredBy(rule.what),
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
function coveredBy(what: readonly string[]): LimitRule['covers'] {
  if (what.includes('*')) return undefined;
  const selectors = what.map((text) => compileSelector(text));
  return (request) => coversForms(selectors, request, `${request.server}/${request.name}`, false);
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
