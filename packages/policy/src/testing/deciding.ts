/** Asks a policy for decisions, in few words. */
import type { Facts, JsonObject, Labels, Principal } from '@omnibus/protocol';
import { expect } from 'vitest';
import type { Circumstances } from '../conditions.ts';
import { compile, type Policy } from '../policy.ts';
import type { Decision } from '../rights.ts';
import type { Target } from '../rule.ts';
import type { AccessSettings, RuleSettings } from '../settings.ts';

export const ann: Facts = {
  principal: 'p_ann' as Principal,
  issuer: 'https://login.example',
  subject: 'ann',
  tenant: undefined,
  actors: [],
  groups: ['eng'],
  scopes: [],
  client: 'cli',
  expiresAt: undefined,
  key: undefined,
};
export const agent = { ...ann, actors: [{ issuer: 'https://login.example', subject: 'agent' }] };

export async function policyOf(
  rules: readonly RuleSettings[],
  fallback: AccessSettings['default'] = 'deny',
): Promise<Policy> {
  const compiled = await compile({ default: fallback, rules });
  if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems));
  return compiled.policy;
}

export interface Asked {
  readonly args?: JsonObject;
  readonly method?: string;
  readonly facts?: Facts | undefined;
  readonly now?: string;
  readonly address?: string;
  readonly annotations?: unknown;
  readonly labels?: Labels | undefined;
}

/** @param text `server/tool`, or with the kind in front. */
export function targetOf(text: string, annotations?: unknown): Target {
  const [, kind = 'tool', server = '', name = ''] =
    /^(?:(tool|prompt|resource|server):)?([^/]*)\/(.*)$/su.exec(text) ?? [];
  return { kind: kind as Target['kind'], server, name, ...(annotations === undefined ? {} : { annotations }) };
}

export function decisionOf(
  policy: Policy,
  what: string,
  { args, method = 'tools/call', facts = ann, now = '2026-11-23T10:00:00Z', address, annotations, labels }: Asked = {},
): Decision {
  const target = targetOf(what, annotations);
  const circumstances: Circumstances = {
    facts,
    kind: target.kind,
    method,
    server: target.server,
    name: target.name,
    args,
    now: Date.parse(now),
    address,
    labels,
  };
  const decision = policy.rightsOf(facts).decide(target, circumstances);
  expect(policy.rightsOf(facts).sees(target)).toBe(decision.isVisible);
  return decision;
}

/** The effect (`allow`, `deny` or `hidden`), and the id of the rule. */
export function decide(policy: Policy, what: string, asked?: Asked): string {
  const { effect, rule, isVisible } = decisionOf(policy, what, asked);
  return `${effect === 'deny' && !isVisible ? 'hidden' : effect}${rule === undefined ? '' : ` ${rule}`}`;
}
