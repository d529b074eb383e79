/** The rules in force at this process, decisions by them, and the visible entries of a caller, as the API answers it. Nothing is called, and nothing is counted as refused. */
import type { Catalogue, Explained, explainQuery, PolicyPage, PolicyRule, Sees, seesQuery } from '@omnibus/admin-api';
import type { Config } from '@omnibus/config';
import { effectOf, type RuleSettings, type Target } from '@omnibus/policy';
import { isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import type { z } from 'zod';
import { decide, explain, hintsOf, loadPolicy, type LoadedPolicy, type RuleCompiler } from '../policy/decisions.ts';
import { person, whoText, type Person } from '../policy/words.ts';
import { ApiProblem } from './api-problem.ts';
import type { ConfigHistory } from './config-history.ts';
import { conditionsOf, termsOf, textsOf, whoWords } from '../policy/rule-words.ts';
import { shownValues } from './shown-config.ts';

export interface PolicyBoardOptions {
  readonly process: string;
  readonly config: () => Config;
  readonly history: ConfigHistory;
  readonly rules: RuleCompiler;
  /** Reads a page of the catalogue of all servers. */
  readonly catalogue: (asked: {
    readonly q?: string | undefined;
    readonly kind?: string | undefined;
    readonly server?: string | undefined;
    readonly cursor?: string | undefined;
  }) => Promise<Catalogue>;
}

/** Rules on one page. A configuration has at most 1,000. */
const pageLength = 100;
/** Pages of the catalogue, of 100 entries each, that are decided for one answer: a filter on the outcome may leave out most of them. */
const maxPages = 10;
/** Rows of one answer, after which it ends with the page of the catalogue that is read. */
const enoughRows = 100;

const callerKinds = /^(user|key|group|tenant|client|agent|scope|claim|grant|via):./s;

export class PolicyBoard {
  readonly #options: PolicyBoardOptions;
  /** The compiled rules of each configuration; the present one is used again and again. */
  readonly #loaded = new WeakMap<Config, Promise<LoadedPolicy | undefined>>();

  constructor(options: PolicyBoardOptions) {
    this.#options = options;
  }

  async rules({ cursor }: { readonly cursor?: string | undefined }): Promise<PolicyPage> {
    const { config, history, process, rules: compiler } = this.#options;
    const { access, guardrails } = config();
    const from = cursor === undefined ? 0 : Number(cursor);
    if (!Number.isSafeInteger(from) || from < 0)
      throw new ApiProblem('invalid', 'the cursor is none of ours', 'take `next` of the page before');
    // Values of references are hidden here as in the configuration: a name in a rule may be secret.
    const own =
      (shownValues({ config: { access } as unknown as Config, ...history.source }).find(
        ({ path }) => path === 'access.rules',
      )?.value as readonly RuleSettings[] | undefined) ?? [];
    // Those of `flow: guarded` stand in no line of the configuration.
    const shown = [...own, ...compiler.guardedRules(config())];
    const { loaded } = history.source;
    const rules = shown.slice(from, from + pageLength).map((rule, index): PolicyRule => {
      const at = from + index;
      const place = at < own.length ? loaded?.problemAt(['access', 'rules', at], '') : undefined;
      return {
        ...ruleOf(rule, at),
        ...(place === undefined ? {} : { place: `${place.file}:${place.line}` }),
      };
    });
    const version = (await this.#load())?.policy.version;
    const hasRules = access !== undefined || shown.length > 0;
    return {
      hasRules,
      default: access?.default ?? 'allow',
      isRecorded: access?.mode === 'record',
      file: history.file,
      process,
      rules,
      total: shown.length,
      ...(hasRules && version !== undefined ? { version } : {}),
      ...(shown.length > from + pageLength ? { next: String(from + pageLength) } : {}),
      guardrails: guardrails.map(({ id, mode }) => ({ id, isRecorded: mode === 'record' })),
    };
  }

  async explain({ who, what, args, at, from, hint, after }: z.output<typeof explainQuery>): Promise<Explained> {
    const loaded = await this.#need();
    const as = personIn(who);
    if (!/^(?:(?:tool|prompt|resource):)?[^/:]+\/./s.test(what))
      throw new ApiProblem(
        'invalid',
        `${JSON.stringify(what.slice(0, 100))} names nothing of a server`,
        'write server/tool, prompt:server/name or resource:server/uri',
      );
    const time = at === undefined ? undefined : new Date(at);
    if (time !== undefined && Number.isNaN(time.getTime()))
      throw new ApiProblem('invalid', `${JSON.stringify(at)} is not a time`, 'write 2026-11-23T08:00:00Z');
    const { outcome, rule, because, redacted, labels, rules, guardrails } = explain(loaded, as, what, {
      args: args === undefined ? undefined : argumentsIn(args),
      at: time,
      from,
      hints: hintsOf(listIn(hint)),
      after: listIn(after),
    });
    return {
      who: whoText(as),
      what,
      outcome,
      isRecorded: this.#isRecorded,
      labels: [...labels],
      rules,
      guardrails,
      ...known({ rule, because, redacted }),
    };
  }

  async sees({ who, outcome: wanted, cursor, ...looked }: z.output<typeof seesQuery>): Promise<Sees> {
    const loaded = await this.#need();
    const as = personIn(who);
    const rows: Sees['rows'] = [];
    let next = cursor;
    let seen = 0;
    for (let page = 0; ; page += 1) {
      const read = await this.#options.catalogue({ ...looked, cursor: next });
      seen += read.entries.length;
      for (const { kind, server, ownName: name, annotations } of read.entries) {
        const target: Target = { kind: kind === 'template' ? 'resource' : kind, server, name };
        const { outcome, rule, redacted } = decide(loaded, as, target, { hints: annotations });
        const isConditional = loaded.policy.rules.some((each) => each.id === rule && each.condition !== undefined);
        if (wanted === undefined || wanted === outcome)
          rows.push({ kind, server, name, outcome, isConditional, ...known({ rule, redacted }) });
      }
      ({ next } = read);
      if (next !== undefined && rows.length < enoughRows && page + 1 < maxPages) continue;
      return {
        who: whoText(as),
        isRecorded: this.#isRecorded,
        rows,
        looked: seen,
        total: read.total,
        missing: read.missing,
        ...known({ next }),
      };
    }
  }

  get #isRecorded(): boolean {
    return this.#options.config().access?.mode === 'record';
  }

  /** @throws {ApiProblem} where there are no rules to decide by. */
  async #need(): Promise<LoadedPolicy> {
    const loaded = await this.#load();
    if (loaded === undefined)
      throw new ApiProblem(
        'conflict',
        'there are no rules here (access), so whoever may connect may use everything',
        'docs/how-to/policy.md says how rules are written',
      );
    return loaded;
  }

  #load(): Promise<LoadedPolicy | undefined> {
    const config = this.#options.config();
    const known = this.#loaded.get(config) ?? loadPolicy(config, this.#options.rules);
    this.#loaded.set(config, known);
    return known;
  }
}

function ruleOf(rule: RuleSettings, index: number): PolicyRule {
  const { id = `#${index + 1}`, who, except, because } = rule;
  const effect = effectOf(rule);
  const terms = termsOf(rule);
  return {
    id,
    effect,
    who: whoWords(who),
    what: textsOf(rule[effect]),
    conditions: conditionsOf(rule),
    ...(except === undefined ? {} : { except: whoWords(except) }),
    ...known({ terms, because }),
  };
}

/** @throws {ApiProblem} */
function personIn(text: string): Person {
  if (text === 'nobody' || callerKinds.test(text)) return text;
  const parsed = text.startsWith('{') ? person.safeParse(jsonIn(text, 'who')) : undefined;
  if (parsed?.success === true) return parsed.data;
  throw new ApiProblem(
    'invalid',
    `${JSON.stringify(text.slice(0, 100))} is no caller`,
    'write group:NAME, key:SUBJECT, user:ISSUER|SUBJECT, tenant:NAME, nobody, or several at once as JSON: {"tenant": "acme", "group": "eng"}',
  );
}

/** @throws {ApiProblem} */
function argumentsIn(text: string): JsonObject {
  const given = jsonIn(text, 'args');
  if (isObject(given)) return given;
  throw new ApiProblem('invalid', 'args: expected a JSON object');
}

/** Texts with commas between them. */
function listIn(text = ''): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function jsonIn(text: string, name: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new ApiProblem('invalid', `${name}: this is not JSON: ${(error as Error).message}`);
  }
}

/** The members that are defined. */
function known<Members extends Readonly<Record<string, string | undefined>>>(
  members: Members,
): { [Name in keyof Members]?: string } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: string;
  };
}
