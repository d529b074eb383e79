/**
 * Calls that need an approval first (`ask` under `access`): its caller sees each in a form, or approvers see it on a board that session
 * workers share, and goes on when it is approved.
 *
 * Invariants
 *  V1  The wait of a call ends once: approved, refused, expired, withdrawn, or because no approver is reachable.
 *  V2  An approval is for the call that waits for it, with its arguments, caller and time, and is used by that call alone.
 *  V4  A call that needs several approvers has the approvals of as many different ones.
 *  V3  Nothing of a wait is left when it has ended: no deadline, no question, no place among the waiting calls.
 */
import { hash, randomBytes } from 'node:crypto';
import { startActor, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  canonical,
  fault,
  labelAdvice,
  labelData,
  type ApprovalRecord,
  type Caller,
  type ErrorReason,
  type ExchangeId,
  type GrantRecord,
  type GatewayFault,
  type InputAnswer,
  type JsonObject,
  type LabelReason,
  type Limits,
  type WorkerId,
} from '@omnibus/protocol';
import type { ApprovalOutcome, Metrics } from '@omnibus/telemetry';
import type { Questioner } from '../../call/transform.ts';
import type { Board } from './board.ts';
import type { CallGrants, CoveredCall } from './call-grants.ts';
import { formOf, maxShown, shown, verdictOf } from './form.ts';
import { approvalMachine, type ApprovalEvent } from './machine.ts';

/** The audit's data about one wait. */
export interface ApprovalNote {
  readonly outcome: Exclude<ApprovalOutcome, 'limit' | 'reused'>;
  readonly id: string;
  readonly digest: string;
  readonly by: 'caller' | 'approvers';
  /** The approver that decided. */
  readonly decidedBy?: string | undefined;
  /** Milliseconds for which further calls are approved. */
  readonly forMs?: number | undefined;
}

export interface AskedApproval extends CoveredCall {
  readonly caller: Caller;
  readonly args: unknown;
  readonly because: string | undefined;
  /** The labels of the conversation by which the rule asks; undefined for a rule that depends on none. */
  readonly labelled: LabelReason | undefined;
  /** Names the call at every session worker that may hold it; undefined where no other worker can continue it. */
  readonly exchange: ExchangeId | undefined;
  /** Whether a session worker that is gone may have held the call: approvers may have been asked already. */
  readonly mayBeAsked: boolean;
  /** Shows the caller a form; undefined if the client cannot show one. */
  readonly show: ((asker: Questioner, params: JsonObject) => void) | undefined;
  /** Withdraws the form. */
  readonly takeBack: (asker: Questioner, reason: string) => void;
  readonly note: (note: ApprovalNote) => void;
  /** @param refusal undefined when the call was approved. */
  readonly settled: (refusal: GatewayFault | undefined) => void;
}

export interface ApprovalsOptions {
  readonly wheel: DeadlineWheel;
  readonly metrics: Pick<Metrics, 'approval'>;
  readonly limits: Pick<Limits, 'maxWaitingApprovals' | 'maxWaitingApprovalsPerCaller'>;
  readonly board: Board;
  readonly grants: CallGrants;
  readonly worker: WorkerId;
}

const idBytes = 9;

export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #byCaller = new Map<string, number>();
  #size = 0;
  #forApprovers = 0;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** How many calls wait. */
  get size(): number {
    return this.#size;
  }

  /** How many of them wait for approvers, and not for their callers. */
  get forApprovers(): number {
    return this.#forApprovers;
  }

  /** The earlier approval for a time that covers a call; it is counted as used. */
  covering(call: CoveredCall): GrantRecord | undefined {
    const grant = this.#options.grants.of(call);
    if (grant !== undefined) this.#options.metrics.approval(call.terms.by, 'reused');
    return grant;
  }

  /** Begins a wait. @returns the wait, or the reason why there is none. */
  ask(asked: AskedApproval): Waiting | GatewayFault {
    const {
      metrics,
      limits: { maxWaitingApprovals, maxWaitingApprovalsPerCaller },
    } = this.#options;
    const {
      terms: { by },
      rule,
    } = asked;
    const share = shareOf(asked.caller);
    const held = this.#byCaller.get(share) ?? 0;
    if (held >= maxWaitingApprovalsPerCaller || this.#size >= maxWaitingApprovals) {
      metrics.approval(by, 'limit');
      return fault('approval.limit', undefined, { rule });
    }
    const isForApprovers = by === 'approvers';
    this.#size += 1;
    if (isForApprovers) this.#forApprovers += 1;
    this.#byCaller.set(share, held + 1);
    return new Waiting(this.#options, asked, () => {
      this.#size -= 1;
      if (isForApprovers) this.#forApprovers -= 1;
      const left = (this.#byCaller.get(share) ?? 1) - 1;
      if (left === 0) this.#byCaller.delete(share);
      else this.#byCaller.set(share, left);
    });
  }
}

/**
 * States of a record that the next worker continues.
 * A used approval is not among them: a client may say that it repeats a call that its server has answered.
 */
const continued: ReadonlySet<ApprovalRecord['state']> = new Set(['waiting', 'approved', 'refused']);

function newId(): ExchangeId {
  return randomBytes(idBytes).toString('hex') as ExchangeId;
}

/** An id that every worker knows which holds the call, and from which the call cannot be computed. */
function idOf(exchange: ExchangeId): ExchangeId {
  return hash('sha256', `approval ${exchange}`).slice(0, 2 * idBytes) as ExchangeId;
}

/** The address distinguishes anonymous callers. */
function shareOf({ principal, origin, address }: Caller): string {
  return principal === anonymous ? `at ${origin ?? address ?? ''}` : principal;
}

export class Waiting implements Questioner {
  readonly #options: ApprovalsOptions;
  readonly #asked: AskedApproval;
  readonly #left: () => void;
  #id: ExchangeId;
  #digest: string;
  #until: number;
  /** The machine has no actions, so nothing of it can fail. */
  readonly #actor = startActor(approvalMachine, { onFailure: () => undefined });
  #deadline: Deadline | undefined;

  constructor(options: ApprovalsOptions, asked: AskedApproval, left: () => void) {
    this.#options = options;
    this.#asked = asked;
    this.#left = left;
    this.#id = asked.exchange === undefined || asked.terms.by === 'caller' ? newId() : idOf(asked.exchange);
    this.#until = Date.now() + asked.terms.expiresMs;
    this.#digest = this.#digestFor(this.#until); // V2
  }

  /** The id of the form, and of the record for approvers; no exchange with a server has it. */
  get id(): ExchangeId {
    return this.#id;
  }

  #digestFor(until: number): string {
    const {
      server,
      kind,
      name,
      args,
      definition,
      caller: { principal },
      rule,
    } = this.#asked;
    return hash(
      'sha256',
      canonical([server, kind, name, args ?? {}, definition ?? null, principal, rule, until]),
      'base64url',
    );
  }

  /** Asks the caller or the approvers. The answer may come before this returns. */
  begin(): void {
    const {
      server,
      kind,
      name,
      args,
      rule,
      because,
      terms: { by, expiresMs },
      show,
    } = this.#asked;
    if (by === 'caller' && show === undefined) {
      this.#end('impossible', 'the client cannot be shown a form (elicitation)');
      return;
    }
    const text = shown(name, args);
    if (typeof text === 'number') {
      this.#end(
        'impossible',
        `${kind === 'resource' ? 'its URI has' : 'its name and arguments have'} ${text} characters, and who approves can be shown ${maxShown}; send less`,
      );
      return;
    }
    if (!this.#moves('asked')) return;
    this.#expireIn(expiresMs);
    if (by === 'caller') this.#tell('asked');
    if (by === 'caller')
      show?.(this, formOf({ server, kind, name, rule, because, digest: this.#digest, text, lasts: this.#lasts }));
    else void this.#post(text);
  }

  get #lasts(): number | undefined {
    return this.#options.grants.lastsFor(this.#asked);
  }

  #expireIn(ms: number): void {
    this.#deadline?.cancel();
    this.#deadline = this.#options.wheel.schedule(ms, () =>
      this.#end('expired', `it was not approved within ${this.#asked.terms.expiresMs / 1_000} s`),
    );
  }

  async #post(text: string): Promise<void> {
    const { board } = this.#options;
    const share = shareOf(this.#asked.caller);
    try {
      if (this.#asked.mayBeAsked && (await this.#takeOver())) return;
      this.#tell('asked');
      const isPosted = await board.post(this.#record(text), share, (record) => this.#decided(record));
      if (isPosted) return;
      // The call waited before, for another approval.
      this.#id = newId();
      await board.post(this.#record(text), share, (record) => this.#decided(record));
    } catch {
      this.#end('impossible', 'approvers cannot be told now'); // The board has logged the reason.
    }
  }

  /** Approvers were asked by the worker that held the call before: their decision counts, since they saw the same call (V2). @returns false where they were not. */
  async #takeOver(): Promise<boolean> {
    const { board, worker } = this.#options;
    const isOurs = ({ state, until, digest }: ApprovalRecord): boolean => {
      if (!continued.has(state) || digest !== this.#digestFor(until)) return false;
      this.#until = until;
      this.#digest = digest;
      return true;
    };
    const record = await board.takeOver(this.#id, worker, shareOf(this.#asked.caller), isOurs, (changed) =>
      this.#decided(changed),
    );
    if (record === undefined) return false;
    if (this.#actor.getSnapshot().value !== 'waiting') {
      board.ended(this.#id, 'withdrawn'); // The call has ended meanwhile.
      return true;
    }
    this.#expireIn(Math.max(0, record.until - Date.now()));
    this.#decided(record); // It may have been decided while no worker held the call.
    return true;
  }

  #record(text: string): ApprovalRecord {
    const {
      caller: { principal },
      facts,
      server,
      kind,
      name,
      rule,
      because,
      terms: { approvers, quorum },
    } = this.#asked;
    const { issuer, subject, actors = [], tenant, client } = facts ?? {};
    return {
      id: this.id,
      state: 'waiting',
      worker: this.#options.worker,
      at: Date.now(),
      until: this.#until,
      rule,
      ...(because === undefined ? {} : { because }),
      server,
      ...(kind === 'tool' ? {} : { kind }),
      tool: name,
      arguments: text,
      digest: this.#digest,
      principal,
      who:
        issuer === undefined
          ? []
          : [`${issuer}|${subject}`, ...actors.map((actor) => `${actor.issuer}|${actor.subject}`)],
      ...(tenant === undefined ? {} : { tenant }),
      ...(client === undefined ? {} : { client }),
      ...(approvers === undefined ? {} : { approvers }),
      ...(quorum === undefined ? {} : { quorum }),
      ...(this.#lasts === undefined ? {} : { lasts: this.#lasts }),
    };
  }

  /** Called when an approver has decided. The digest proves that the approver saw the call that waits here. */
  #decided({ state, by, reason, digest, forMs, votes = [] }: ApprovalRecord): void {
    if (digest !== this.#digest || Date.now() >= this.#until) return;
    const { quorum = 1 } = this.#asked.terms;
    if (state === 'approved' && quorum > 1 && new Set(votes.map(({ person }) => person)).size < quorum) return; // V4
    if (state === 'approved') this.#approved(by, forMs);
    else if (state === 'refused')
      this.#end('refused', reason === undefined ? 'refused by an approver' : `refused by an approver: ${reason}`, by);
  }

  /** Called when the caller has answered the form. */
  answerInput(_input: number, answer: InputAnswer): void {
    const { verdict, isForFurther } = verdictOf(answer);
    if (verdict === 'approved') this.#approved(undefined, isForFurther ? this.#lasts : undefined);
    else this.#end(verdict, verdict === 'refused' ? 'refused by the user' : 'the client could not show the form');
  }

  /** @param forMs milliseconds for which further calls are approved; undefined for this call alone. */
  #approved(by: string | undefined, forMs: number | undefined): void {
    if (!this.#actor.getSnapshot().can({ type: 'approved' })) return; // V1
    const given = forMs === undefined || this.#lasts === undefined ? undefined : Math.min(forMs, this.#lasts);
    if (given !== undefined) this.#options.grants.add(this.id, this.#asked, given, by ?? this.#asked.caller.principal);
    this.#end('approved', '', by, given);
  }

  passInputProgress(): void {
    // Progress of the client does not extend the wait, which has its own time limit.
  }

  /** Called when the call no longer waits, for example since its client cancelled it. */
  withdraw(reason: string): void {
    this.#end('withdrawn', reason);
  }

  /** Records whether the approval was used, or void since the rules have changed. */
  used(outcome: 'used' | 'void'): void {
    if (this.#moves(outcome)) this.#tell(outcome);
  }

  /** @returns false if the state has no such event: the wait ended before (V1). */
  #moves(type: ApprovalEvent['type']): boolean {
    if (!this.#actor.getSnapshot().can({ type })) return false;
    this.#actor.send({ type });
    return true;
  }

  #end(
    outcome: 'approved' | 'refused' | 'expired' | 'withdrawn' | 'impossible',
    words: string,
    by?: string,
    forMs?: number,
  ): void {
    if (!this.#moves(outcome)) return;
    this.#deadline?.cancel();
    this.#left(); // V3
    const { terms, rule, because, labelled, settled, takeBack } = this.#asked;
    this.#tell(outcome, by, forMs);
    if (terms.by === 'approvers') this.#options.board.ended(this.id, outcome);
    else if (outcome === 'expired' || outcome === 'withdrawn') takeBack(this, words);
    if (outcome === 'withdrawn') return;
    settled(
      outcome === 'approved'
        ? undefined
        : fault(
            reasons[outcome],
            `${words} (rule "${rule}"${because === undefined ? '' : `: ${because}`})${labelAdvice(labelled)}`,
            { rule, ...(because === undefined ? {} : { because }), ...labelData(labelled) },
          ),
    );
  }

  #tell(outcome: ApprovalNote['outcome'], decidedBy?: string, forMs?: number): void {
    const {
      terms: { by },
      note,
    } = this.#asked;
    this.#options.metrics.approval(by, outcome);
    note({ outcome, id: this.id, digest: this.#digest, by, decidedBy, forMs });
  }
}

const reasons = {
  refused: 'approval.refused',
  expired: 'approval.expired',
  impossible: 'approval.impossible',
} as const satisfies Readonly<Record<string, ErrorReason>>;
