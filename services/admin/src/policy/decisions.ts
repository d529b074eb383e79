/** Decides what callers may do by the rules of a configuration, and says what each rule contributes; for the commands and for the API. */
import { enabledServers, isForTenant, trustedHints, type Config } from '@omnibus/config';
import {
  compile,
  holding,
  type Circumstances,
  type Guardrail,
  type Guardrails,
  type Policy,
  type RuleSettings,
  type Target,
} from '@omnibus/policy';
import { noLabels, type Facts, type JsonObject, type Labels } from '@omnibus/protocol';
import { personOf, targetOf, type Person } from './words.ts';

export interface LoadedPolicy {
  readonly config: Config;
  readonly policy: Policy;
  readonly guardrails: Guardrails | undefined;
}

/** Compiles the rules and guardrails of a configuration; undefined if it has none. */
export interface RuleCompiler {
  /** @throws {Error} in words for the operator. */
  compileAccess(config: Config): Promise<Policy | undefined>;
  /** @throws {Error} in words for the operator. */
  compileGuards(config: Config): Promise<Guardrails | undefined>;
  /** The rules that `flow: guarded` adds after those of the configuration. */
  guardedRules(config: Config): readonly RuleSettings[];
}

/** The circumstances of a call that is decided. */
export interface Around {
  readonly args?: JsonObject | undefined;
  readonly at?: Date | undefined;
  readonly from?: string | undefined;
  /** Annotations of the tool; those of servers that are not believed are ignored. */
  readonly hints?: Readonly<Record<string, unknown>> | undefined;
  /** Labels that the conversation carries. Default: none. */
  readonly after?: readonly string[] | undefined;
}

export interface Decided {
  readonly outcome: 'allow' | 'ask' | 'deny' | 'hidden';
  readonly rule: string | undefined;
  readonly because: string | undefined;
  /** Id of the rule that redacts the result. */
  readonly redacted: string | undefined;
  readonly guardrails: readonly Guardrail[];
  /** Labels that the result adds. */
  readonly labels: readonly string[];
  readonly facts: Facts | undefined;
  readonly target: Target;
  readonly around: Circumstances;
}

/** Compiles rules and guardrails. Without rules all callers may do everything, and guardrails still apply. @returns undefined where there are neither. @throws {Error} in words for the operator. */
export async function loadPolicy(
  config: Config,
  rules: Omit<RuleCompiler, 'guardedRules'>,
): Promise<LoadedPolicy | undefined> {
  const [policy, guardrails] = await Promise.all([rules.compileAccess(config), rules.compileGuards(config)]);
  if (policy !== undefined) return { config, policy, guardrails };
  return guardrails === undefined ? undefined : { ...(await openPolicy(config)), guardrails };
}

/** The rights without rules: all callers may do everything. */
export async function openPolicy(config: Config): Promise<LoadedPolicy> {
  const open = await compile({ default: 'allow', rules: [] });
  if (!('policy' in open)) throw new Error('no rules are no valid rules');
  return { config, policy: open.policy, guardrails: undefined };
}

/** Hints that are true, as annotations of a tool; undefined where there are none. */
export function hintsOf(names: readonly string[]): Readonly<Record<string, boolean>> | undefined {
  return names.length === 0 ? undefined : Object.fromEntries(names.map((each) => [each, true]));
}

/** The facts of a caller, with the groups of its grants. */
export function factsOf(as: Person, { grants }: Policy): Facts | undefined {
  const facts = personOf(as);
  return facts?.grants === undefined ? facts : holding(facts, facts.grants, grants);
}

/** @param what `server/tool`, `prompt:server/name` or `resource:server/uri`. */
export function decide(
  { config, policy, guardrails }: LoadedPolicy,
  as: Person,
  what: string | Target,
  { args, at, from, hints, after = [] }: Around,
): Decided {
  const facts = factsOf(as, policy);
  const named = typeof what === 'string' ? targetOf(what) : what;
  const settings = enabledServers(config).get(named.server);
  const annotations =
    settings !== undefined && named.kind === 'tool' ? trustedHints(settings, named.name, hints) : undefined;
  const target: Target = annotations === undefined ? named : { ...named, annotations };
  const { kind, server, name } = target;
  const method = kind === 'prompt' ? 'prompts/get' : kind === 'resource' ? 'resources/read' : 'tools/call';
  const around: Circumstances = {
    facts,
    kind,
    server,
    name,
    method,
    args,
    now: (at ?? new Date()).getTime(),
    address: from,
    labels: carrying(after),
  };
  const asked = { facts, target, around };
  if (!isForTenant(settings?.tenants, facts?.tenant))
    return {
      ...asked,
      outcome: 'hidden',
      rule: undefined,
      because: 'the server exists for callers of certain tenants only',
      redacted: undefined,
      guardrails: [],
      labels: [],
    };
  const rights = policy.rightsOf(facts);
  const { effect, isVisible, rule, because, redaction } = rights.decide(target, around);
  return {
    ...asked,
    outcome: effect === 'deny' && !isVisible ? 'hidden' : effect,
    rule,
    because,
    redacted: redaction?.rule,
    guardrails: effect === 'deny' ? [] : (guardrails?.about(facts, target, () => around)?.all ?? []),
    labels: effect === 'deny' ? [] : [...new Set(rights.labels(target, around).map(({ label }) => label))],
  };
}

function carrying(labels: readonly string[]): Labels {
  return labels.length === 0 ? noLabels : { has: (label) => labels.includes(label), sourceOf: () => undefined };
}

/** A decision, with what each rule and each guardrail must do with it. */
export function explain(loaded: LoadedPolicy, as: Person, what: string, circumstances: Around) {
  const { outcome, rule, redacted, because, labels, facts, guardrails, target, around } = decide(
    loaded,
    as,
    what,
    circumstances,
  );
  const key = `${target.server}/${target.name}`;
  const isAgent = loaded.policy.isAgent(facts);
  const rules = loaded.policy.rules.map((each) => {
    const isAbout = (isAgent || !each.isForAgents) && each.isFor(facts);
    const covers = each.covers(target, key);
    const holds = each.condition?.(around);
    const after = each.after === undefined ? '' : ` (after ${each.after.join(' and ')})`;
    const why = !isAbout
      ? 'is about other callers'
      : covers === 'no'
        ? 'is about something else'
        : covers === 'unknown'
          ? 'depends on a hint that is not believed'
          : holds === undefined
            ? 'matches'
            : holds === 'yes'
              ? 'matches, and its conditions are met'
              : holds === 'no'
                ? `matches, and its conditions are not met${after}`
                : `matches, and its conditions cannot be decided${after}`;
    return { effect: each.effect, id: each.id, why, isMatch: isAbout && covers === 'yes' && holds !== 'no' };
  });
  const guards = guardrails.map(({ id, stages, action, check, isRecorded }) => ({
    id,
    on: [...stages],
    action:
      check.kind === 'outside'
        ? `asks ${check.asked.kind === 'webhook' ? new URL(check.asked.webhook.url).origin : `${check.asked.server}/${check.asked.tool}`}`
        : action,
    isRecorded,
  }));
  return { outcome, rule, because, redacted, labels, rules, guardrails: guards };
}
