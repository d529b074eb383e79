/** One call on its way, with the audit records of its start, its end, and the questions of its server. */
import type { Audit, AuditEvent } from '@omnibus/audit';
import {
  errorTable,
  fault,
  isObject,
  type ErrorReason,
  type ExchangeEvent,
  type GatewayFault,
  type InputAnswer,
  type InputKey,
} from '@omnibus/protocol';
import type { CallScreen } from '../../call/transform.ts';
import type { QuestionRecords } from './question-records.ts';
import { ruleOf } from './rule-of.ts';
import type { CallEnd, WatchedCall } from '../../call/watchers.ts';

/** An event of an open request. */
export type OpenEvent = { -readonly [Member in keyof AuditEvent]: AuditEvent[Member] };

interface RecordedCallOptions {
  readonly options: {
    readonly audit: Audit;
    /** Called when a call was not sent because no sink stored its record. */
    readonly unsafe: () => void;
  };
  /** Its record, which is written when the call ends; undefined where the audit does not want it. */
  readonly event: OpenEvent | undefined;
  /** The screen of its messages, which knows what guardrails have decided. */
  readonly screen: CallScreen | undefined;
  /** When it was sent, by `performance.now()`. */
  readonly since: number;
  readonly questions: () => QuestionRecords;
}

/** One call, which is put on record with the questions of its server. */
export class RecordedCall implements WatchedCall {
  readonly #call: RecordedCallOptions;
  #questions: QuestionRecords | undefined;
  /** With `audit.strict`, what writes is sent once a record says that it has started, and that record is safe. */
  readonly hold: (() => Promise<GatewayFault | undefined>) | undefined;

  readonly takesAway: boolean;

  constructor(call: RecordedCallOptions) {
    this.#call = call;
    this.takesAway = !call.options.audit.wantsResults;
    const { event, options } = call;
    this.hold = event?.weight === 'write' && options.audit.isStrict ? () => this.#confirm(event) : undefined;
  }

  async #confirm(event: OpenEvent): Promise<GatewayFault | undefined> {
    const { audit, unsafe } = this.#call.options;
    if (await audit.confirm({ ...event, outcome: 'started' })) return undefined;
    unsafe();
    return fault('audit.unavailable');
  }

  asked(event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    this.#questions ??= this.#call.questions();
    this.#questions.asked(event);
  }

  answered(input: InputKey, answer: InputAnswer): void {
    this.#questions?.answered(input, answer);
  }

  withdrawn(input: InputKey): void {
    this.#questions?.withdrawn(input);
  }

  ended(of: CallEnd, characters: number | undefined): void {
    this.#questions?.ended();
    const { event, screen, since, options } = this.#call;
    if (event === undefined) return;
    event.durationMs = performance.now() - since;
    event.responseBytes = characters;
    conclude(event, of);
    if (typeof of !== 'string' && of.kind === 'result' && options.audit.wantsResults) event.result = of.result;
    if (screen !== undefined && screen.notes.length > 0) event.more = { ...event.more, guardrails: [...screen.notes] };
    options.audit.record(event);
  }
}

/** Notes the outcome of a request in its event. */
function conclude(event: OpenEvent, of: CallEnd): void {
  // Its client may be gone, and then no other worker continues it.
  if (of === 'moved') {
    event.outcome = 'unknown';
    event.more = { ...event.more, moved: true };
    return;
  }
  if (of === 'cancelled') {
    event.outcome = of;
    return;
  }
  switch (of.kind) {
    case 'result': {
      const { isError, resultType, inputRequests } = of.result;
      event.outcome = isError === true ? 'tool_error' : 'ok';
      if (resultType === 'input_required')
        event.more = { ...event.more, result_type: resultType, questions: questionsOf(inputRequests) };
      return;
    }
    case 'error':
      event.outcome = 'fault';
      event.code = of.error.code;
      return;
    case 'fault': {
      const { reason, data } = of.fault;
      event.outcome = isUnknown(reason) ? 'unknown' : 'fault';
      event.reason = reason;
      const { rule } = ruleOf(data);
      if (rule !== undefined) event.rule = rule;
    }
  }
}

function questionsOf(requests: unknown): readonly string[] {
  return isObject(requests)
    ? Object.values(requests)
        .flatMap((each) => (isObject(each) && typeof each['method'] === 'string' ? [each['method'].slice(0, 100)] : []))
        .slice(0, 100)
    : [];
}

function isUnknown(reason: ErrorReason): boolean {
  return Object.hasOwn(errorTable, reason) && errorTable[reason].retry === 'unknown-outcome';
}
