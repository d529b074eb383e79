/** Tries access rules without a gateway: test cases with expected outcomes, an explanation of one decision, and the difference between two configurations. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Guardrail } from '@omnibus/policy';
import { isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import { parse } from 'yaml';
import { z } from 'zod';
import { compileAccess, compileGuards } from '@omnibus/setup/rules';
import {
  decide,
  explain,
  hintsOf,
  loadPolicy,
  openPolicy,
  type Decided,
  type LoadedPolicy,
  momentProblem,
  person,
  personProblem,
  targetProblem,
  whoText,
  type Person,
} from '@omnibus/admin/policy';
import { differencesOf } from '../policy/diff.ts';
import { answer, answerEither, answerJson, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { needSettings } from './settings.ts';

export interface PolicyOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export interface ExplainOptions extends PolicyOptions {
  /** The arguments of the call, as JSON. */
  readonly args?: string;
  /** Time of the call, as a date with a time. */
  readonly at?: string;
  /** IP address of the client. */
  readonly from?: string;
  /** Annotations of the tool that are true, such as `readOnlyHint`. */
  readonly hint?: readonly string[];
  /** Labels that the conversation carries. */
  readonly after?: readonly string[];
}

const testCase = z.strictObject({
  as: person,
  call: z.string(),
  args: z.record(z.string(), z.unknown()).optional(),
  at: z.union([z.string(), z.date()]).optional(),
  from: z.string().optional(),
  hints: z.record(z.string(), z.boolean()).optional(),
  /** Labels that the conversation carries. */
  after: z.union([z.string(), z.array(z.string())]).optional(),
  expect: z.enum(['allow', 'ask', 'deny', 'hidden']),
  rule: z.string().optional(),
  /** Id of the rule that redacts the result. */
  redacted: z.string().optional(),
  /** The guardrails that look at its messages, in their order. */
  guardrails: z.array(z.string()).optional(),
  /** The labels that its result adds, in their order. */
  labels: z.array(z.string()).optional(),
  /** A text of the server's answer, and the text for clients: the text, or `denied`. */
  says: z.string().optional(),
  becomes: z.string().optional(),
});
const cases = z.strictObject({ config: z.string().optional(), cases: z.array(testCase).min(1) });

export function testPolicy(file: string, { config: given, json = false }: PolicyOptions): Promise<void> {
  return runCommand(json, async () => {
    const read = casesOf(file);
    const loaded = await policyOf(
      given ?? (read.config === undefined ? undefined : resolve(dirname(file), read.config)),
    );
    const problems = read.cases.flatMap(({ as, call, at, from }, index) => {
      const asked = personProblem(as);
      return [
        ...(asked === undefined ? [] : [`as: ${asked}`]),
        targetProblem(call, loaded.config),
        momentProblem(at, from),
      ]
        .filter((each) => each !== undefined)
        .map((problem) => `${file}: cases.${index}: ${problem}`);
    });
    if (problems.length > 0) throw new CommandProblem('config', problems.join('\n'));
    const decided = read.cases.map((each) => decideCase(loaded, each));
    const failed = decided.filter(({ isAsExpected }) => !isAsExpected).length;
    if (json) answerJson({ cases: decided, failed });
    else {
      for (const [index, { as, call, outcome, rule, redacted, isAsExpected, expected }] of decided.entries())
        answer(
          `${isAsExpected ? 'ok    ' : 'FAILED'} ${index + 1} ${as} ${call}: ${outcome}${rule === undefined ? '' : ` by ${rule}`}${redacted === undefined ? '' : `, redacted by ${redacted}`}${isAsExpected ? '' : `; expected ${expected}`}\n`,
        );
      answer(`${decided.length - failed} of ${decided.length} cases are as expected\n`);
    }
    return failed > 0 ? 'other' : 'done';
  });
}

/** @throws {CommandProblem} */
function casesOf(file: string): z.output<typeof cases> {
  try {
    return cases.parse(parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new CommandProblem(
      'config',
      error instanceof z.ZodError
        ? error.issues.map(({ path, message }) => `${file}: ${path.join('.')}: ${message}`).join('\n')
        : `${file}: ${(error as Error).message}`,
    );
  }
}

function decideCase(loaded: LoadedPolicy, wanted: z.output<typeof testCase>) {
  const { as, call, args, at, from, hints, after, says } = wanted;
  const decided = decide(loaded, as, call, {
    args: args as JsonObject | undefined,
    at: at === undefined ? undefined : new Date(at),
    from,
    hints,
    after: after === undefined ? undefined : [after].flat(),
  });
  const { outcome, rule, redacted, guardrails } = decided;
  const becomes = says === undefined ? undefined : said(says, guardrails);
  return {
    as: whoText(as),
    call,
    outcome,
    rule,
    redacted,
    guardrails: guardrails.map(({ id }) => id),
    becomes,
    expected: expectedOf(wanted),
    isAsExpected: isAsExpected(wanted, decided, becomes),
  };
}

function isAsExpected(
  wanted: z.output<typeof testCase>,
  { outcome, rule, redacted, guardrails, labels }: Decided,
  becomes: string | undefined,
): boolean {
  const isNoOther = (expected: unknown, found: unknown): boolean => expected === undefined || expected === found;
  return (
    (outcome === wanted.expect || (wanted.expect === 'deny' && outcome === 'hidden')) &&
    isNoOther(wanted.rule, rule) &&
    isNoOther(wanted.redacted, redacted) &&
    isNoOther(wanted.guardrails?.join(), guardrails.map(({ id }) => id).join()) &&
    isNoOther(wanted.labels?.join(), labels.join()) &&
    isNoOther(wanted.becomes, becomes)
  );
}

/** What a case expects, in words. */
function expectedOf({ expect, rule, redacted, guardrails, becomes, labels }: z.output<typeof testCase>): string {
  return [
    `${expect}${rule === undefined ? '' : ` by ${rule}`}`,
    ...(redacted === undefined ? [] : [`redacted by ${redacted}`]),
    ...(guardrails === undefined ? [] : [`looked at by ${guardrails.join(', ') || 'no guardrail'}`]),
    ...(becomes === undefined ? [] : [`becoming ${JSON.stringify(becomes)}`]),
    ...(labels === undefined ? [] : [`labelled ${labels.join(', ') || 'nothing'}`]),
  ].join(', ');
}

/** The effect of built-in guardrails on a text of a result; external ones are not used. */
function said(text: string, guardrails: readonly Guardrail[]): string {
  let made = text;
  for (const { check, action, stages, isRecorded } of guardrails) {
    if (check.kind === 'outside' || !stages.has('results') || isRecorded) continue;
    const changed = check.kind === 'text' ? check.redaction.said(made) : made;
    const isFound = check.kind === 'size' ? made.length > (check.most.text ?? Infinity) : changed !== made;
    if (isFound && action === 'deny') return 'denied';
    if (action === 'change') made = changed;
  }
  return made;
}

export function explainPolicy(who: string, what: string, { json, ...options }: ExplainOptions): Promise<void> {
  return runCommand(json, async () => {
    const { config, args, at, from, hint = [], after } = options;
    const loaded = await policyOf(config);
    const as = personIn(who);
    const problem = targetProblem(what, loaded.config) ?? momentProblem(at, from);
    if (problem !== undefined)
      throw new CommandProblem(problem.startsWith('there is no') ? 'unknown' : 'usage', problem);
    const around = {
      args: args === undefined ? undefined : argumentsOf(args),
      at: at === undefined ? undefined : new Date(at),
      from,
      hints: hintsOf(hint),
      after,
    };
    const { outcome, rule, because, redacted, labels, rules: all, guardrails } = explain(loaded, as, what, around);
    const rules = all.map(({ effect, id, why }) => ({ effect, id, why }));
    const words = `${who} ${what}: ${outcome}${rule === undefined ? ' by default' : ` by ${rule}`}${because === undefined ? '' : ` (${because})`}${redacted === undefined ? '' : `, redacted by ${redacted}`}${labels.length === 0 ? '' : `; its result adds ${labels.join(', ')}`}\n`;
    answerEither(
      json,
      { who, what, outcome, rule, because, redacted, labels, rules, guardrails },
      `${words}${rules.map((each) => `  ${each.effect.padEnd(5)} ${each.id}: ${each.why}\n`).join('')}${guardrails.map((each) => `  guard ${each.id}: looks at ${each.on.join(', ')} (${each.action}${each.isRecorded ? ', only recorded' : ''})\n`).join('')}`,
    );
  });
}

/** A caller as a rule names one, or several parts at once as JSON. @throws {CommandProblem} */
function personIn(text: string): Person {
  try {
    const given = text.startsWith('{') ? person.parse(JSON.parse(text)) : text;
    const problem = personProblem(given);
    if (problem === undefined) return given;
    throw new Error(problem);
  } catch (error) {
    throw new CommandProblem(
      'usage',
      `${JSON.stringify(text)} is no caller: ${error instanceof z.ZodError ? error.issues.map(({ message }) => message).join('; ') : (error as Error).message}`,
    );
  }
}

/** @throws {CommandProblem} */
function argumentsOf(text: string): JsonObject | undefined {
  try {
    const given = parseJson(text);
    if (isObject(given)) return given;
    throw new Error('it is no object');
  } catch (error) {
    throw new CommandProblem('usage', `--args is no JSON object: ${(error as Error).message}`);
  }
}

export function diffPolicies(
  before: string,
  after: string,
  { names, json }: { readonly names?: string; readonly json?: boolean },
): Promise<void> {
  return runCommand(json, async () => {
    const [old, now] = [await policyOf(before, true), await policyOf(after, true)];
    const known =
      names === undefined
        ? []
        : readFileSync(names, 'utf8')
            .split('\n')
            .map((line) => line.trim())
            .filter((line) => line !== '');
    const differences = [...differencesOf(old, now, known)].map(([who, changes]) => ({ who, changes }));
    const lines = differences.flatMap(({ who, changes }) => [
      who,
      ...changes.map(
        ({ what, was, is, rule, gains }) =>
          `  ${gains === undefined ? '~' : gains ? '+' : '-'} ${what}: ${was} -> ${is}${rule === undefined ? '' : ` (${rule})`}`,
      ),
    ]);
    answerEither(json, differences, lines.length === 0 ? 'nobody gains or loses anything\n' : `${lines.join('\n')}\n`);
  });
}

/** Loads a configuration and compiles its rules. @param isOpenTaken whether one without rules means that all callers may do everything, as for a gateway. @throws {CommandProblem} */
async function policyOf(given: string | undefined, isOpenTaken = false): Promise<LoadedPolicy> {
  // No server is connected to, so the secrets of servers are not read.
  const { config, file } = await needSettings(given, { role: 'session' });
  const loaded = await loadPolicy(config, { compileAccess, compileGuards }).catch((error: unknown) => {
    throw new CommandProblem('config', (error as Error).message.replaceAll(/^/gm, `${file}: `));
  });
  if (loaded === undefined && isOpenTaken) return openPolicy(config);
  if (loaded === undefined) throw new CommandProblem('config', `${file} has no rules (access) and no guardrails`);
  return loaded;
}
