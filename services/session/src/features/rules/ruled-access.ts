/** The rights of one caller by the access rules, and the screens by rules and guardrails for its messages. */
import type { Sight } from '@omnibus/catalog';
import { trustedHints, type ServerConfig } from '@omnibus/config';
import {
  holding,
  type Circumstances,
  type Decision,
  type GrantTerms,
  type Guardrails,
  type Policy,
  type Redaction,
  type Rights,
  type SchemaProblem,
  type Target,
} from '@omnibus/policy';
import {
  anonymous,
  fault,
  labelAdvice,
  labelData,
  noLabels,
  type Caller,
  type Facts,
  type GatewayFault,
  type JsonObject,
  type Labels,
} from '@omnibus/protocol';
import { shareOf } from '../../call/client-of.ts';
import type { Decided, Permission, Wanted } from '../../call/permission.ts';
import type { Outside, OutsideCaller } from '../guardrails/outside.ts';
import { Screen, type GuardrailNote, type ScreenOwner } from '../guardrails/screen.ts';
import type { DecisionLog } from './decision-log.ts';
import { DecidingAccess } from './permission.ts';

/** One state of the rules. */
export interface Rules {
  /** Undefined if all callers may do everything. */
  readonly policy: Policy | undefined;
  readonly guardrails: Guardrails | undefined;
  readonly isRecording: boolean;
  /** Servers with trusted tool annotations: their own (`hints: believe`), or those of the operator. */
  readonly hinted: ReadonlyMap<string, ServerConfig>;
  /** What follows from decisions that depend on no circumstances and redact nothing. */
  readonly permissions: WeakMap<Decision, Decided>;
  readonly log: DecisionLog;
  /** Asks external services about messages; undefined if there are none. */
  readonly outside: Outside | undefined;
  /** Name of this state of the rules; equal in every process that has the same rules. */
  readonly name: string;
}

const unruled: Permission = { effect: 'allow', isVisible: true, isRecorded: false };
/** Grants that one refusal tries. */
const maxOffers = 20;
const noProblem = (): undefined => undefined;

export class RuledAccess extends DecidingAccess implements ScreenOwner {
  readonly sight: Sight | undefined;
  readonly #rules: Rules;
  /** Undefined if all callers may do everything. */
  readonly #rights: Rights | undefined;
  readonly #caller: Caller;
  readonly #facts: Facts | undefined;

  constructor(
    rules: Rules,
    rights: Rights | undefined,
    sight: Sight | undefined,
    caller: Caller,
    facts: Facts | undefined,
  ) {
    super();
    this.sight = sight;
    this.#rules = rules;
    this.#rights = rights;
    this.#caller = caller;
    this.#facts = facts;
  }

  decide(wanted: Wanted): Decided {
    const { policy, isRecording, hinted, permissions, guardrails } = this.#rules;
    const rights = this.#rights;
    const target = targetOf(wanted, hinted);
    if (rights === undefined) return { permission: unruled, screen: this.#screen(wanted, target, undefined) };
    const fixed = rights.fixed(target);
    const known = fixed === undefined ? undefined : permissions.get(fixed);
    if (known !== undefined)
      return guardrails === undefined && !rights.usesLabels
        ? known
        : { permission: known.permission, screen: this.#screen(wanted, target, undefined) };
    const decision = fixed ?? rights.decide(target, this.#circumstancesOf(wanted));
    const { effect, rule, because, labelled, terms, isVisible, redaction } = decision;
    if (effect === 'deny' || (effect === 'ask' && isRecording))
      this.#rules.log.refused(decision, isRecording, wanted, this.#caller);
    if (isRecording && redaction !== undefined)
      this.#rules.log.refused({ ...decision, rule: redaction.rule }, true, wanted, this.#caller);
    const isRefused = effect === 'deny' && !isRecording;
    const decided: Decided = {
      permission: {
        effect,
        rule,
        because,
        labelled,
        terms,
        isVisible,
        isRecorded: isRecording,
        policy: policy?.version,
      },
      screen: isRefused ? undefined : this.#screen(wanted, target, isRecording ? undefined : redaction),
    };
    if (effect === 'allow' && redaction === undefined && decision === rights.fixed(target))
      permissions.set(decision, { permission: decided.permission, screen: undefined });
    return decided;
  }

  offers(wanted: Wanted): readonly GrantTerms[] {
    const { policy, hinted, isRecording } = this.#rules;
    const facts = this.#facts;
    if (policy === undefined || policy.grants.length === 0 || facts === undefined || isRecording) return [];
    const { grants: held = [] } = facts;
    const target = targetOf(wanted, hinted);
    const circumstances = this.#circumstancesOf(wanted);
    return policy.grants
      .filter(({ id, isFor }) => !held.includes(id) && isFor(facts))
      .slice(0, maxOffers)
      .filter(
        ({ id }) =>
          policy.rightsOf(holding(facts, [...held, id], policy.grants)).decide(target, circumstances).effect !== 'deny',
      );
  }

  screen(wanted: Wanted, isRedacted = true): Screen | undefined {
    return this.#screen(
      wanted,
      targetOf(wanted, this.#rules.hinted),
      isRedacted ? this.#redaction(wanted) : undefined,
      isRedacted,
    );
  }

  redacted(wanted: Wanted, part: JsonObject): JsonObject {
    return this.#redaction(wanted)?.result(part) ?? part;
  }

  #redaction(wanted: Wanted): Redaction | undefined {
    const { isRecording, hinted } = this.#rules;
    return isRecording ? undefined : this.#rights?.redaction(targetOf(wanted, hinted), this.#circumstancesOf(wanted));
  }

  /** @param labelling false for lists, which do not label. */
  #screen(wanted: Wanted, target: Target, redaction: Redaction | undefined, labelling = true): Screen | undefined {
    const { guardrails } = this.#rules;
    // A known caller of an adopted session, without a request to this worker yet: its facts are not here.
    const isUnknown = this.#facts === undefined && this.#caller.principal !== anonymous;
    const about = guardrails?.about(this.#facts, target, () => this.#circumstancesOf(wanted), isUnknown);
    const rights = labelling && this.#rights?.usesLabels === true ? this.#rights : undefined;
    const flow =
      rights === undefined
        ? undefined
        : { labels: rights.labels(target, this.#circumstancesOf(wanted)), flows: rights.flowsAt(target) };
    const isFlowing = flow !== undefined && (flow.flows || flow.labels.length > 0);
    return redaction === undefined && about === undefined && !isFlowing
      ? undefined
      : new Screen(redaction, about, wanted, this, flow);
  }

  #circumstancesOf({ kind, server, name, method, args, isBegun, labels }: Wanted): Circumstances {
    const { address, endpoint } = this.#caller;
    return {
      facts: this.#facts,
      kind,
      server,
      name,
      method,
      args,
      now: Date.now(),
      address,
      isBegun,
      endpoint,
      labels,
    };
  }

  // --- for its screens ---------------------------------------------------------------------------------------------------------------

  get outside(): Outside | undefined {
    return this.#rules.outside;
  }

  get schemaProblem(): SchemaProblem {
    return this.#rules.guardrails?.schemaProblem ?? noProblem;
  }

  refusalAfter(wanted: Wanted, labels: Labels): GatewayFault | undefined {
    const rights = this.#rights;
    if (rights === undefined || this.#rules.isRecording) return undefined;
    const target = targetOf(wanted, this.#rules.hinted);
    const asked = { ...wanted, isBegun: undefined };
    const before = rights.decide(target, this.#circumstancesOf({ ...asked, labels: wanted.labels ?? noLabels }));
    const { effect, rule, because, labelled } = rights.decide(target, this.#circumstancesOf({ ...asked, labels }));
    return effect === 'allow' || (effect === before.effect && rule === before.rule)
      ? undefined
      : fault(
          'policy.denied',
          `the answer of the client is not passed on (rule "${rule}"): ${because ?? ''}${labelAdvice(labelled)}`,
          { rule, ...labelData(labelled) },
        );
  }

  outsideCaller(about: Wanted): OutsideCaller {
    const { principal } = this.#caller;
    return { principal, owner: shareOf(this.#caller, this.#facts), isKnown: principal !== anonymous, about };
  }

  tell(note: GuardrailNote, problem: string | undefined, wanted: Wanted): void {
    this.#rules.log.guarded(note, problem, wanted, this.#caller);
  }
}

/** The target of a request, with the trusted annotations of a tool. */
export function targetOf(
  wanted: Pick<Wanted, 'kind' | 'server' | 'name' | 'entry'>,
  hinted: ReadonlyMap<string, ServerConfig>,
): Target {
  const { kind, server, name, entry } = wanted;
  const settings = kind === 'tool' ? hinted.get(server) : undefined;
  const annotations = settings === undefined ? undefined : trustedHints(settings, name, entry?.['annotations']);
  return annotations === undefined ? wanted : { kind, server, name, annotations };
}
