/**
 * The guardrails of a configuration, in the order of the file. Callers and targets of each have the form of access rules, and use the compiler
 * of rules (`rule.ts`).
 */
import type { JsonObject } from '@omnibus/protocol';
import type { Circumstances } from '../conditions.ts';
import { compile, type Policy } from '../policy.ts';
import { Rights } from '../rights.ts';
import type { Target } from '../rule.ts';
import type { RuleProblem } from '../settings.ts';
import type { WhoFacts } from '../who.ts';
import { compileGuardrail, type Guardrail } from './guardrail.ts';
import type { GuardrailSettings, Stage } from './settings.ts';

/** Checks a value against a schema. @returns the problem; undefined when the value is valid. */
export type SchemaProblem = (schema: JsonObject, value: unknown) => string | undefined;

/** The guardrails for messages about one target, in the order of the file, and those of each stage. */
export interface GuardrailsOf {
  readonly all: readonly Guardrail[];
  readonly at: Readonly<Record<Stage, readonly Guardrail[]>>;
  /** Whether an external service is asked about some message. */
  readonly hasOutside: boolean;
}

export class Guardrails {
  /** A digest of their callers and targets, the same in every process. */
  readonly version: string;
  readonly all: readonly Guardrail[];
  /** Checks changed results against the output schemas of their tools. */
  readonly schemaProblem: SchemaProblem;
  readonly #policy: Policy;
  /** By the ids that rights give: the same list of ids for each message about a target, unless conditions narrow it. */
  readonly #known = new WeakMap<readonly string[], GuardrailsOf>();
  readonly #ofAnybody: Rights;

  constructor(all: readonly Guardrail[], policy: Policy, schemaProblem: SchemaProblem) {
    this.version = policy.version;
    this.all = all;
    this.schemaProblem = schemaProblem;
    this.#policy = policy;
    this.#ofAnybody = new Rights('anybody', [policy.rules], 'allow');
  }

  /**
   * The guardrails for messages about a target. @param circumstances asked for only if a guardrail depends on them. @param isUnknown whether nothing is known of the caller yet; then guardrails for any callers count.
   * @returns undefined if there are none.
   */
  about(
    facts: WhoFacts,
    target: Target,
    circumstances: () => Circumstances,
    isUnknown = false,
  ): GuardrailsOf | undefined {
    const ids = (isUnknown ? this.#ofAnybody : this.#policy.rightsOf(facts)).guards(target, circumstances);
    return ids.length === 0 ? undefined : (this.#known.get(ids) ?? this.#made(ids));
  }

  #made(ids: readonly string[]): GuardrailsOf {
    const all = this.all.filter(({ id }) => ids.includes(id));
    const at = (stage: Stage): readonly Guardrail[] => all.filter((each) => each.stages.has(stage));
    const made: GuardrailsOf = {
      all,
      at: { requests: at('requests'), results: at('results'), questions: at('questions'), lists: at('lists') },
      hasOutside: all.some(({ check }) => check.kind === 'outside'),
    };
    this.#known.set(ids, made);
    return made;
  }

  /** Whether some guardrail checks a stage. */
  has(stage: Stage): boolean {
    return this.all.some(({ stages }) => stages.has(stage));
  }
}

export type CompiledGuardrails = { readonly guardrails: Guardrails } | { readonly problems: readonly RuleProblem[] };

/** Compiles all of them or none. @returns problems with paths below `guardrails`. */
export async function compileGuardrails(
  settings: readonly GuardrailSettings[],
  schemaProblem: SchemaProblem,
): Promise<CompiledGuardrails> {
  const made = settings.map((each, index) => compileGuardrail(each, index));
  const scoped = await compile({
    default: 'allow',
    rules: settings.map(({ id, who = 'everyone', what, except, only, args, time, network, when }) => ({
      id,
      who,
      guard: what,
      except,
      only,
      args,
      time,
      network,
      when,
    })),
  });
  const problems = [
    ...made.flatMap((each) => ('problems' in each ? each.problems : [])),
    ...('problems' in scoped
      ? scoped.problems.map(({ path: [, index = 0, member, ...rest], message }): RuleProblem => ({
          path: [index, ...(member === undefined ? [] : [member === 'guard' ? 'what' : member]), ...rest],
          message: message.replace('a rule before it', 'a guardrail before it'),
        }))
      : []),
  ];
  if (problems.length > 0 || 'problems' in scoped) return { problems };
  return {
    guardrails: new Guardrails(
      made.flatMap((each) => ('problems' in each ? [] : [each])),
      scoped.policy,
      schemaProblem,
    ),
  };
}
