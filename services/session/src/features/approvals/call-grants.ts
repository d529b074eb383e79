/** Further calls that one approval covers for a time (`lasts` of a rule with `ask`). Until the bucket is open, each call needs an approval. */
import { hash } from 'node:crypto';
import { Grants, openingAdvice, type Bus } from '@omnibus/bus';
import type { AskTerms, Policy } from '@omnibus/policy';
import { canonical, type Facts, type GrantRecord, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { ApprovedKind } from './form.ts';

/** A call, as far as a grant names it. */
export interface CoveredCall {
  readonly facts: Facts | undefined;
  readonly server: ServerName;
  readonly kind: ApprovedKind;
  /** The server's own name of the tool or prompt, or the URI. */
  readonly name: string;
  /** The server's definition of a tool, which is approved with the call. */
  readonly definition: JsonObject | undefined;
  readonly rule: string;
  readonly terms: AskTerms;
}

export class CallGrants {
  readonly #bus: Bus;
  readonly #log: Logger;
  #opening: Promise<void> | undefined;
  #grants: Grants | undefined;

  constructor({ bus, log }: { readonly bus: Bus; readonly log: Logger }) {
    this.#bus = bus;
    this.#log = log;
  }

  /** Opens the bucket if a rule needs it. */
  apply(policy: Policy | undefined): Promise<void> {
    if (policy?.rules.some(({ terms }) => terms?.lasts !== undefined) !== true) return Promise.resolve();
    return (this.#opening ??= Grants.open(this.#bus).then(
      (grants) => {
        this.#grants = grants;
      },
      (error: unknown) => {
        this.#opening = undefined; // The next configuration tries again.
        this.#log.error(
          { err: error },
          `approvals for a time need the bus, so each call is asked: ${openingAdvice(error)}`,
        );
      },
    ));
  }

  /** The longest time for which further calls of a caller can be allowed, in milliseconds; undefined for an unknown caller. */
  lastsFor({ facts, terms }: Pick<CoveredCall, 'facts' | 'terms'>): number | undefined {
    return facts === undefined || this.#grants === undefined ? undefined : terms.lasts?.ms;
  }

  of(call: CoveredCall): GrantRecord | undefined {
    const { facts, terms } = call;
    if (this.#grants === undefined || facts === undefined || terms.lasts === undefined) return undefined;
    const covered = coveredBy(call, terms.lasts.version);
    return this.#grants.find(
      ({ principal, client, calls }) =>
        principal === facts.principal && client === facts.client && calls !== undefined && isSame(calls, covered),
    );
  }

  /** Allows further calls like this one. @param forMs as the approver chose; the rule bounds it. */
  add(id: string, call: CoveredCall, forMs: number, by: string | undefined): void {
    const { facts, terms } = call;
    if (this.#grants === undefined || facts === undefined || terms.lasts === undefined) return;
    const { principal, issuer, subject, actors, tenant, client } = facts;
    const at = Date.now();
    void this.#grants
      .add({
        id,
        state: 'active',
        at,
        until: at + Math.min(forMs, terms.lasts.ms),
        principal,
        who: [`${issuer}|${subject}`, ...actors.map((actor) => `${actor.issuer}|${actor.subject}`)],
        ...(tenant === undefined ? {} : { tenant }),
        ...(client === undefined ? {} : { client }),
        calls: coveredBy(call, terms.lasts.version),
        ...(terms.approvers === undefined ? {} : { approvers: terms.approvers }),
        ...(by === undefined ? {} : { by }),
      })
      .catch((error: unknown) =>
        this.#log.error({ err: error, approval: id }, 'an approval for a time could not be stored: it is for one call'),
      );
  }

  stop(): void {
    this.#grants?.close();
  }
}

function coveredBy(
  { server, kind, name, definition, rule }: CoveredCall,
  version: string,
): NonNullable<GrantRecord['calls']> {
  return {
    rule,
    version,
    server,
    ...(kind === 'tool' ? {} : { kind }),
    tool: name,
    definition: hash('sha256', canonical(definition ?? null), 'base64url'),
  };
}

function isSame(one: NonNullable<GrantRecord['calls']>, other: NonNullable<GrantRecord['calls']>): boolean {
  return (
    one.tool === other.tool &&
    one.server === other.server &&
    one.kind === other.kind &&
    one.rule === other.rule &&
    one.version === other.version &&
    one.definition === other.definition
  );
}
