/** Records of questions of servers: method, outcome and duration, but never the text of a question or an answer. */
import type { AuditEvent, Outcome } from '@omnibus/audit';
import type { InputAnswer, InputKey } from '@omnibus/protocol';
import type { WatchedQuestions } from '../../call/watchers.ts';

interface OpenQuestion {
  readonly method: string;
  readonly since: number;
}

export class QuestionRecords implements WatchedQuestions {
  readonly #open = new Map<InputKey, OpenQuestion>();
  readonly #record: (method: string, outcome: Outcome, since: number, more: AuditEvent['more']) => void;

  constructor(record: (method: string, outcome: Outcome, since: number, more: AuditEvent['more']) => void) {
    this.#record = record;
  }

  asked({ input, method }: { readonly input: InputKey; readonly method: string }): void {
    if (!this.#open.has(input)) this.#open.set(input, { method, since: performance.now() });
  }

  answered(input: InputKey, answer: InputAnswer): void {
    const action = 'result' in answer ? answer.result['action'] : undefined;
    const isAction = action === 'accept' || action === 'decline' || action === 'cancel';
    this.#end(
      input,
      'result' in answer ? 'ok' : 'fault',
      isAction ? { answer: action } : 'error' in answer ? { code: answer.error.code } : {},
    );
  }

  withdrawn(input: InputKey): void {
    this.#end(input, 'cancelled', {});
  }

  /** Records all open questions as withdrawn, because their call has ended. */
  ended(): void {
    for (const input of this.#open.keys()) this.withdrawn(input);
  }

  #end(input: InputKey, outcome: Outcome, more: AuditEvent['more']): void {
    const open = this.#open.get(input);
    if (open === undefined) return;
    this.#open.delete(input);
    this.#record(open.method, outcome, open.since, more);
  }
}
