/**
 * Forms in the client of one session for calls of others that its user may approve. They go out on the stream that the client keeps open; a client
 * without one gets none. A user that declines leaves the call to other approvers.
 *
 * Invariants
 *  F1  A session shows each call once, and only while it waits, to a user that may decide it.
 *  F2  An answer decides the shown call, by the facts of the answer, and once.
 */
import type { Deadline } from '@omnibus/lifecycle';
import { isObject, type ApprovalRecord, type ExchangeId, type InputAnswer } from '@omnibus/protocol';
import type { ApproverDesk, ApproversClient, FormVerdict } from './approver-desk.ts';
import { approverForm, takesForms } from './form.ts';
import type { Questioner } from '../../call/transform.ts';
import type { ServerQuestions } from '../../stateful/server-questions.ts';
import type { SessionGuest } from '../../stateful/session-parts.ts';
import type { SessionClient } from '../../stateful/session-client.ts';
import type { SessionHost } from '../../stateful/session-host.ts';
import type { SessionStreams } from '../../streams/session-streams.ts';

export interface ApproverFormsOptions {
  readonly desk: ApproverDesk;
  readonly host: Pick<SessionHost, 'wheel' | 'watchers'>;
  readonly client: SessionClient;
  readonly streams: Pick<SessionStreams, 'standing' | 'push'>;
  readonly questions: ServerQuestions;
}

/** Bound on open forms of one client: a person answers one after the other. */
const maxShown = 4;
/** Key of the question, of which a form is one. */
const input = 0;

interface Shown extends Questioner {
  readonly record: ApprovalRecord;
  readonly deadline: Deadline;
}

export class ApproverForms implements ApproversClient, SessionGuest {
  readonly #options: ApproverFormsOptions;
  readonly #shown = new Map<string, Shown>();
  /** Ids of waiting calls with an answered form here. */
  readonly #answered = new Set<string>();
  #isClosed = false;

  constructor(options: ApproverFormsOptions) {
    this.#options = options;
    options.desk.join(this);
  }

  look(): void {
    const { desk, client, streams } = this.#options;
    if (this.#isClosed || desk.waiting.size === 0 || streams.standing === 0 || !takesForms(client.capabilities)) return;
    const { facts } = client;
    if (facts === undefined) return;
    for (const record of desk.waiting.values()) {
      if (this.#shown.size >= maxShown) return;
      if (!this.#shown.has(record.id) && !this.#answered.has(record.id) && desk.isFor(facts, record))
        this.#show(record); // F1
    }
  }

  ended(id: string): void {
    this.#answered.delete(id);
    const shown = this.#shown.get(id);
    if (shown !== undefined) this.#withdraw(shown, 'the call does not wait any more');
    this.look();
  }

  /** Withdraws open forms, since the session ends here; another worker that holds it shows it again. */
  close(): void {
    this.#isClosed = true;
    this.#options.desk.leave(this);
    for (const shown of this.#shown.values()) this.#withdraw(shown, 'the session ends here');
  }

  #show(record: ApprovalRecord): void {
    const {
      desk,
      host: { wheel },
      questions,
      streams,
    } = this.#options;
    const { id, until } = record;
    const shown: Shown = {
      // It is the id of no exchange: answers to it come back to this object.
      id: `approval-${id}` as ExchangeId,
      record,
      deadline: wheel.schedule(Math.max(1, until - Date.now()), () =>
        this.#withdraw(shown, 'nobody has decided in time'),
      ),
      answerInput: (_input, answer) => void this.#answeredBy(shown, answer),
      passInputProgress: () => undefined,
    };
    this.#shown.set(id, shown);
    desk.count('shown');
    this.#note('shown', record, {});
    questions.ofCall(
      shown,
      { send: streams.push },
      { kind: 'input', input, method: 'elicitation/create', params: approverForm(record) },
    );
  }

  #withdraw(shown: Shown, reason: string): void {
    this.#remove(shown);
    this.#options.questions.withdraw(shown, input, reason);
    this.#options.desk.count('withdrawn');
  }

  #remove({ record: { id }, deadline }: Shown): void {
    deadline.cancel();
    this.#shown.delete(id);
  }

  async #answeredBy(shown: Shown, answer: InputAnswer): Promise<void> {
    const { desk, client } = this.#options;
    const { record } = shown;
    // Read at once: the next request of the client may come with other facts.
    const { facts } = client;
    this.#remove(shown);
    this.#answered.add(record.id); // F1
    const verdict = verdictOf(answer, record);
    const outcome = typeof verdict === 'string' ? verdict : await desk.decide(facts, record, verdict); // F2
    desk.count(outcome);
    this.#note('answered', record, { answer: outcome });
    if (!desk.waiting.has(record.id)) this.#answered.delete(record.id);
    this.look();
  }

  #note(what: 'shown' | 'answered', record: ApprovalRecord, more: Readonly<Record<string, string>>): void {
    const { id, digest, server, kind, tool, rule } = record;
    this.#options.host.watchers.noted(this.#options.client, undefined, {
      name: `approval.${what}`,
      server,
      ...(kind === 'resource' ? { uri: tool } : { target: tool }),
      rule,
      more: { approval: id, approval_digest: digest, ...more },
    });
  }
}

function verdictOf(answer: InputAnswer, { hidden, lasts }: ApprovalRecord): FormVerdict | 'left' | 'failed' {
  if ('error' in answer) return 'failed';
  const { action, content } = answer.result;
  if (action !== 'accept' || !isObject(content)) return 'left';
  const { decision, reason } = content;
  // A form that does not show all offers no approval.
  if (decision === 'approve') return hidden === undefined ? { state: 'approved' } : 'left';
  if (decision === 'approve-further')
    return hidden === undefined && lasts !== undefined ? { state: 'approved', forMs: lasts } : 'left';
  return decision === 'refuse'
    ? { state: 'refused', reason: typeof reason === 'string' && reason !== '' ? reason.slice(0, 500) : undefined }
    : 'left';
}
