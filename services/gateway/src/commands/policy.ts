/** Rules before they are used: cases that have to come out as they are written, why somebody may or may not, and what a change changes. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { enabledServers, type Config } from '@omnibus/config';
import type { Circumstances, Policy, Target } from '@omnibus/policy';
import { isObject, type Facts, type JsonObject } from '@omnibus/protocol';
import { parse } from 'yaml';
import { z } from 'zod';
import { compileAccess } from '../access.ts';
import { differencesOf } from '../policy-diff.ts';
import { personOf, targetOf, whoText } from '../policy-words.ts';
import { fail, findConfigFile, findSettings, readSettings } from './settings.ts';

export interface PolicyOptions {
  readonly config?: string;
}

export interface ExplainOptions extends PolicyOptions {
  /** The arguments of the call, as JSON. */
  readonly args?: string;
  /** When: a date with a time. */
  readonly at?: string;
  /** The address of the client. */
  readonly from?: string;
  /** What the tool says of itself, such as `readOnlyHint`. */
  readonly hint?: readonly string[];
}

const texts = z.union([z.string(), z.array(z.string())]).optional();
const person = z.union([z.string(), z.strictObject({ user: z.string().optional(), key: z.string().optional(), group: texts, tenant: z.string().optional(), client: z.string().optional(), scope: texts, via: texts })]);
const testCase = z.strictObject({
  as: person,
  call: z.string(),
  args: z.record(z.string(), z.unknown()).optional(),
  at: z.union([z.string(), z.date()]).optional(),
  from: z.string().optional(),
  hints: z.record(z.string(), z.boolean()).optional(),
  expect: z.enum(['allow', 'ask', 'deny', 'hidden']),
  rule: z.string().optional(),
  /** The rule that takes something out of the result. */
  redacted: z.string().optional(),
});
const cases = z.strictObject({ config: z.string().optional(), cases: z.array(testCase).min(1) });

export async function testPolicy(file: string, { config: given }: PolicyOptions): Promise<void> {
  let read: z.output<typeof cases>;
  try {
    read = cases.parse(parse(readFileSync(file, 'utf8')));
  } catch (error) {
    fail([`${file}: ${error instanceof z.ZodError ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n') : (error as Error).message}`]);
    return;
  }
  const loaded = await policyOf(given ?? (read.config === undefined ? undefined : resolve(dirname(file), read.config)));
  if (loaded === undefined) return;
  let failed = 0;
  for (const [index, { as, call, args, at, from, hints, expect: expected, rule: expectedRule, redacted: expectedRedaction }] of read.cases.entries()) {
    const { outcome, rule, redacted } = decide(loaded, as, call, { args: args as JsonObject | undefined, at: at === undefined ? undefined : new Date(at), from, hints });
    const isGood = (outcome === expected || (expected === 'deny' && outcome === 'hidden')) && (expectedRule === undefined || expectedRule === rule) && (expectedRedaction === undefined || expectedRedaction === redacted);
    if (!isGood) failed += 1;
    const wanted = isGood ? '' : `; expected ${expected}${expectedRule === undefined ? '' : ` by ${expectedRule}`}${expectedRedaction === undefined ? '' : `, redacted by ${expectedRedaction}`}`;
    process.stdout.write(`${isGood ? 'ok    ' : 'FAILED'} ${index + 1} ${whoText(as)} ${call}: ${outcome}${rule === undefined ? '' : ` by ${rule}`}${redacted === undefined ? '' : `, redacted by ${redacted}`}${wanted}\n`);
  }
  process.stdout.write(`${read.cases.length - failed} of ${read.cases.length} cases are as expected\n`);
  if (failed > 0) process.exitCode = 1;
}

export async function explainPolicy(who: string, what: string, { config, args, at, from, hint = [] }: ExplainOptions): Promise<void> {
  const loaded = await policyOf(config);
  if (loaded === undefined) return;
  let asked: JsonObject | undefined;
  try {
    const given: unknown = args === undefined ? undefined : JSON.parse(args);
    asked = isObject(given) ? given : undefined;
  } catch (error) {
    fail([`--args is not JSON: ${(error as Error).message}`]);
    return;
  }
  const circumstances = { args: asked, at: at === undefined ? undefined : new Date(at), from, hints: hint.length === 0 ? undefined : Object.fromEntries(hint.map((each) => [each, true])) };
  const { outcome, rule, redacted, because, facts, target, around } = decide(loaded, who, what, circumstances);
  process.stdout.write(`${who} ${what}: ${outcome}${rule === undefined ? ' by default' : ` by ${rule}`}${because === undefined ? '' : ` (${because})`}${redacted === undefined ? '' : `, redacted by ${redacted}`}\n`);
  const key = `${target.server}/${target.name}`;
  const isAgent = loaded.policy.isAgent(facts);
  for (const each of loaded.policy.rules) {
    const isAbout = (isAgent || !each.isForAgents) && each.isFor(facts);
    const covers = each.covers(target, key);
    const holds = each.condition?.(around);
    const why = !isAbout ? 'is about other callers' : covers === 'no' ? 'is about something else' : covers === 'unknown' ? 'depends on a hint that is not believed' : holds === undefined ? 'matches' : holds === 'yes' ? 'matches, and its conditions are met' : holds === 'no' ? 'matches, and its conditions are not met' : 'matches, and its conditions cannot be decided';
    process.stdout.write(`  ${each.effect.padEnd(5)} ${each.id}: ${why}\n`);
  }
}

export async function diffPolicies(before: string, after: string, { names }: { readonly names?: string }): Promise<void> {
  const [old, now] = [await policyOf(before), await policyOf(after)];
  if (old === undefined || now === undefined) return;
  const known = names === undefined ? [] : readFileSync(names, 'utf8').split('\n').map((line) => line.trim()).filter((line) => line !== '');
  const differences = differencesOf(old, now, known);
  for (const [person, changes] of differences) {
    process.stdout.write(`${person}\n`);
    for (const { what, was, is, rule, gains } of changes) process.stdout.write(`  ${gains ? '+' : '-'} ${what}: ${was} -> ${is}${rule === undefined ? '' : ` (${rule})`}\n`);
  }
  if (differences.size === 0) process.stdout.write('nobody gains or loses anything\n');
}

interface LoadedPolicy {
  readonly config: Config;
  readonly policy: Policy;
}

/** @returns undefined when there is none; that is said. */
async function policyOf(given: string | undefined): Promise<LoadedPolicy | undefined> {
  const file = findConfigFile(given);
  // Servers are not connected to, and their secrets are nobody's here.
  const settings = file === undefined ? findSettings(given, {}) : readSettings(file, { role: 'session' });
  if (settings === undefined) return undefined;
  if ('problems' in settings) {
    fail(settings.problems);
    return undefined;
  }
  try {
    const policy = await compileAccess(settings.config);
    if (policy !== undefined) return { config: settings.config, policy };
    fail([`${settings.file} has no rules (access)`]);
  } catch (error) {
    fail([(error as Error).message]);
  }
  return undefined;
}

interface Around {
  readonly args?: JsonObject | undefined;
  readonly at?: Date | undefined;
  readonly from?: string | undefined;
  readonly hints?: Readonly<Record<string, boolean>> | undefined;
}

function decide({ config, policy }: LoadedPolicy, as: Parameters<typeof personOf>[0], what: string, { args, at, from, hints }: Around): {
  readonly outcome: 'allow' | 'ask' | 'deny' | 'hidden'; readonly rule: string | undefined; readonly redacted: string | undefined; readonly because: string | undefined; readonly facts: Facts | undefined; readonly target: Target; readonly around: Circumstances;
} {
  const facts = personOf(as);
  const named = targetOf(what);
  const isBelieved = enabledServers(config).get(named.server)?.hints === 'believe';
  const target: Target = isBelieved && named.kind === 'tool' ? { ...named, annotations: hints ?? null } : named;
  const { kind, server, name } = target;
  const method = kind === 'prompt' ? 'prompts/get' : kind === 'resource' ? 'resources/read' : 'tools/call';
  const around: Circumstances = { facts, kind, server, name, method, args, now: (at ?? new Date()).getTime(), address: from };
  const { effect, isVisible, rule, because, redaction } = policy.rightsOf(facts).decide(target, around);
  return { outcome: effect === 'deny' && !isVisible ? 'hidden' : effect, rule, redacted: redaction?.rule, because, facts, target, around };
}
