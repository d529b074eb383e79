/**
 * The checks of the messages of one request: redaction of the server's messages (`redact` under `access`), and its guardrails, in the
 * order of the file; each sees the changes of those before it. Without either, there is no screen.
 *
 * Without an external check, callbacks run at once, and nothing is deferred. Else messages keep their order (`in-order.ts`).
 */
import type { Guardrail, GuardrailsOf, Redaction, SchemaProblem, Stage } from '@omnibus/policy';
import {
  fault,
  isObject,
  labelsKey,
  toErrorObject,
  type ExchangeEvent,
  type ExchangeOutcome,
  type GatewayFault,
  type InputAnswer,
  type InputKey,
  type JsonObject,
  type JsonRpcErrorObject,
  type Labels,
  type ProgressEvent,
} from '@omnibus/protocol';
import type { Wanted } from '../../call/permission.ts';
import type { AddedLabel, CallScreen, Questioner } from '../../call/transform.ts';
import { builtInVerdict } from './built-in.ts';
import { InOrder, maxWaiting } from '../../call/in-order.ts';
import type { ScreenedMessage, Verdict } from './message.ts';
import type { Outside, OutsideCaller } from './outside.ts';
import { redactedOutcome } from './redacted.ts';
import { changeProblem, consistent, promiseProblem } from './shape.ts';
import { stopped, withLabels, type Passed, type Screened } from './words.ts';

/** What became of a message by a guardrail. */
export interface GuardrailNote {
  readonly guardrail: string;
  readonly stage: Stage;
  readonly action: 'denied' | 'changed' | 'labelled' | 'failed' | 'recorded';
}

/** The caller's access, for the screens that it makes. */
export interface ScreenOwner {
  /** Undefined without external checks. */
  readonly outside: Outside | undefined;
  readonly schemaProblem: SchemaProblem;
  /** Why a client may send no more for a request with these labels. */
  refusalAfter(wanted: Wanted, labels: Labels): GatewayFault | undefined;
  /** The caller, for an external service. */
  outsideCaller(wanted: Wanted): OutsideCaller;
  /** Logs and counts. @param problem why a check failed. */
  tell(note: GuardrailNote, problem: string | undefined, wanted: Wanted): void;
}

type Then<Made> = (made: Made) => void;
type Input = Extract<ExchangeEvent, { kind: 'input' }>;

/** For a call whose messages are only redacted. */
const noGuardrails: GuardrailsOf = {
  all: [],
  at: { requests: [], results: [], questions: [], lists: [] },
  hasOutside: false,
};

const noFlow: Pick<CallScreen, 'labels' | 'flows'> = { labels: [], flows: false };

/** Bound on notes of one request: a call may send any number of messages. */
const maxNotes = 50;

export class Screen implements CallScreen {
  readonly #redaction: Redaction | undefined;
  readonly #guardrails: GuardrailsOf;
  readonly #wanted: Wanted;
  readonly #owner: ScreenOwner;
  readonly #order: InOrder | undefined;
  /** What became of the messages, for the record: `guardrail stage action`. */
  readonly notes: string[] = [];
  readonly labels: readonly AddedLabel[];
  readonly passesOutcomes: boolean;
  readonly flows: boolean;
  /** Methods of open questions, by which their answers are looked at. */
  #asked: Map<InputKey, string> | undefined;

  constructor(
    redaction: Redaction | undefined,
    guardrails: GuardrailsOf | undefined,
    wanted: Wanted,
    owner: ScreenOwner,
    { labels, flows }: Pick<CallScreen, 'labels' | 'flows'> = noFlow,
  ) {
    this.#redaction = redaction;
    this.#guardrails = guardrails ?? noGuardrails;
    this.#wanted = wanted;
    this.#owner = owner;
    this.labels = labels;
    this.passesOutcomes = redaction === undefined && !this.looksAt('results') && !this.looksAt('questions');
    this.flows = flows;
    this.#order = this.#guardrails.hasOutside ? new InOrder() : undefined;
  }

  refusalAfter(labels: Labels): GatewayFault | undefined {
    return this.#owner.refusalAfter(this.#wanted, labels);
  }

  get item(): string {
    return this.#wanted.name;
  }

  goesOnFrom(before: CallScreen | undefined): void {
    for (const note of before?.notes ?? []) if (!this.notes.includes(note)) this.notes.push(note);
  }

  get takesOut(): boolean {
    return this.#redaction !== undefined || this.#guardrails.all.some(({ action }) => action !== 'label');
  }

  looksAt(stage: Stage): boolean {
    return this.#guardrails.at[stage].length > 0;
  }

  // --- messages of clients -----------------------------------------------------------------------------------------------------

  /** @param params with the server's own names. */
  request(params: JsonObject, then: Then<Screened<JsonObject>>): void {
    this.#screen(
      { stage: 'requests', event: this.#wanted.method, phase: 'request' },
      { payload: params, labels: [] },
      false,
      then,
    );
  }

  asks(input: InputKey, method: string): void {
    if (this.looksAt('requests')) (this.#asked ??= new Map()).set(input, method);
  }

  /** A client's answer to a question of the server, or the error in its place. */
  #answer(method: string, answer: InputAnswer, then: Then<InputAnswer>): void {
    if ('error' in answer) then(answer);
    else
      this.#screen(
        { stage: 'requests', event: method, phase: 'response' },
        { payload: answer.result, labels: [] },
        false,
        (made) => then('fault' in made ? { error: toErrorObject(made.fault) } : { result: made.payload }),
      );
  }

  /** What waits for a client's answers, with each answer looked at before it is passed on. */
  asker(waits: Questioner): Questioner {
    if (!this.looksAt('requests')) return waits;
    return {
      id: waits.id,
      answerInput: (input, answer) => {
        const method = this.#asked?.get(input) ?? 'elicitation/create';
        this.#asked?.delete(input);
        this.#answer(method, answer, (made) => waits.answerInput(input, made));
      },
      passInputProgress: (input, params) => waits.passInputProgress(input, params),
    };
  }

  // --- messages of servers ------------------------------------------------------------------------------------------------------

  outcome(given: ExchangeOutcome, then: Then<ExchangeOutcome>): void {
    const outcome = this.#redaction === undefined ? given : redactedOutcome(given, this.#redaction);
    if (!this.looksAt('results') && !this.looksAt('questions')) {
      then(outcome);
      return;
    }
    this.#inOrder(false, then, (pass) => {
      if (outcome.kind === 'result') this.#result(outcome, pass);
      else if (outcome.kind === 'error')
        this.#error(outcome.error, (made) =>
          pass('fault' in made ? { kind: 'fault', fault: made.fault } : { kind: 'error', error: made.payload }),
        );
      else pass({ kind: 'fault', fault: this.#fault(outcome.fault) });
    });
  }

  /** Says something that comes before the answer; nothing where it is denied. */
  said<Said extends JsonObject | undefined>(event: string, given: Said, then: Then<Said>): void {
    const said = given === undefined || this.#redaction === undefined ? given : this.#redaction.said(given);
    if (said === undefined || !this.looksAt('results')) {
      then(said);
      return;
    }
    this.#inOrder<Said | undefined>(
      true,
      (made) => (made === undefined ? undefined : then(made)),
      (pass) =>
        this.#words(event, said, (made) =>
          pass('fault' in made ? undefined : (withLabels(made.payload, made.labels) as Said)),
        ),
    );
  }

  progress(event: ProgressEvent, then: Then<ProgressEvent>): void {
    const { kind, progress, total, message, more } = event;
    // Numbers alone say nothing.
    if (message === undefined && more === undefined && this.#order === undefined) then(event);
    else
      this.said<JsonObject>(
        'notifications/progress',
        { ...(message === undefined ? {} : { message }), ...(more === undefined ? {} : { more }) },
        ({ message: text, more: others, _meta }) => {
          const extra =
            _meta === undefined ? (others as JsonObject | undefined) : { ...(others as JsonObject | undefined), _meta };
          then({
            kind,
            progress,
            ...(total === undefined ? {} : { total }),
            ...(typeof text === 'string' ? { message: text } : {}),
            ...(extra === undefined ? {} : { more: extra }),
          });
        },
      );
  }

  question(event: Input, then: Then<Input>, refuse: Then<InputAnswer>): void {
    this.asks(event.input, event.method);
    const params = this.#redaction === undefined ? event.params : this.#redaction.said(event.params);
    if (!this.looksAt('questions')) {
      then({ ...event, params });
      return;
    }
    this.#inOrder<Screened<JsonObject>>(
      false,
      (made) =>
        'fault' in made
          ? refuse({ error: toErrorObject(made.fault) })
          : then({ ...event, params: withLabels(made.payload, made.labels) }),
      (pass) => this.#question(event.method, params, pass),
    );
  }

  /** An event that must not overtake earlier messages: the withdrawal of a question. */
  after(act: () => void): void {
    this.#inOrder(false, act, (pass) => pass(undefined));
  }

  #question(event: string, params: JsonObject, then: Then<Screened<JsonObject>>): void {
    this.#screen({ stage: 'questions', event, phase: 'request' }, { payload: params, labels: [] }, false, then);
  }

  #words(event: string, words: JsonObject, then: Then<Screened<JsonObject>>): void {
    this.#screen({ stage: 'results', event, phase: 'response' }, { payload: words, labels: [] }, false, then);
  }

  /** A fault is the gateway's own, and may repeat the server's answer. It gets no external check, and its reason stays. */
  #fault({ reason, message, data }: GatewayFault): GatewayFault {
    const own = this.#guardrails.at.results.filter(({ check }) => check.kind !== 'outside');
    let cleaned: GatewayFault = fault(reason, message, data);
    this.#screen(
      { stage: 'results', event: this.#wanted.method, phase: 'response' },
      { payload: { message, ...(data === undefined ? {} : { data }) }, labels: [] },
      false,
      (made) => {
        if ('fault' in made) cleaned = fault(reason, made.fault.message);
        else
          cleaned = fault(
            reason,
            String(made.payload['message']),
            isObject(made.payload['data']) ? made.payload['data'] : data,
          );
      },
      own,
    );
    return cleaned;
  }

  #error({ code, message, data }: JsonRpcErrorObject, then: Then<Screened<JsonRpcErrorObject>>): void {
    this.#words(this.#wanted.method, { message, ...(data === undefined ? {} : { data }) }, (made) => {
      if ('fault' in made) {
        then(made);
        return;
      }
      const {
        payload: { message: text, data: more },
        labels,
      } = made;
      // An error has no `_meta`; further members are in `data`.
      const all = labels.length > 0 && (more === undefined || isObject(more)) ? { ...more, [labelsKey]: labels } : more;
      then({ payload: { code, message: String(text), ...(all === undefined ? {} : { data: all }) }, labels });
    });
  }

  #result(outcome: Extract<ExchangeOutcome, { kind: 'result' }>, then: Then<ExchangeOutcome>): void {
    const { inputRequests, ...result } = outcome.result;
    const wanted = this.#wanted;
    this.#screen(
      { stage: 'results', event: wanted.method, phase: 'response' },
      { payload: result, labels: [] },
      true,
      (made) => {
        if ('fault' in made) {
          then({ kind: 'fault', fault: made.fault });
          return;
        }
        const whole = made.payload === result ? result : consistent(result, made.payload);
        const problem =
          whole === undefined
            ? 'its text and its structured content differ'
            : made.payload === result
              ? undefined
              : promiseProblem(whole, wanted.entry, this.#owner.schemaProblem);
        if (whole === undefined || problem !== undefined) {
          this.#note(
            { guardrail: this.notes.at(-1)?.split(' ')[0] ?? 'unknown', stage: 'results', action: 'failed' },
            `the changed result is not what the tool promises: ${problem ?? ''}`,
          );
          then({
            kind: 'fault',
            fault: fault(
              'guardrail.withheld',
              'the answer was withheld: without what may not be passed on, it is not what the tool promises to answer',
            ),
          });
          return;
        }
        const labelled = withLabels(whole, made.labels);
        if (isObject(inputRequests)) this.#inputRequests(outcome, labelled, Object.entries(inputRequests), then);
        else then({ ...outcome, result: inputRequests === undefined ? labelled : { ...labelled, inputRequests } });
      },
    );
  }

  /** Questions that are answered with the next request (2026-07-28 basic/patterns, Multi Round-Trip Requests): one that is denied denies the result, since the server waits for all. */
  #inputRequests(
    outcome: Extract<ExchangeOutcome, { kind: 'result' }>,
    result: JsonObject,
    requests: readonly (readonly [string, unknown])[],
    then: Then<ExchangeOutcome>,
    made: JsonObject = {},
  ): void {
    const [first, ...others] = requests;
    if (first === undefined) {
      then({ ...outcome, result: { ...result, inputRequests: made } });
      return;
    }
    const [key, request] = first;
    const next = (value: unknown): void =>
      this.#inputRequests(outcome, result, others, then, { ...made, [key]: value });
    if (!isObject(request) || !isObject(request['params'])) next(request);
    else
      this.#question(String(request['method']), request['params'], (screened) =>
        'fault' in screened
          ? then({ kind: 'fault', fault: screened.fault })
          : next({ ...request, params: withLabels(screened.payload, screened.labels) }),
      );
  }

  // --- one guardrail after the other -----------------------------------------------------------------------------------------

  #inOrder<Made>(isDispensable: boolean, then: Then<Made>, make: (pass: Then<Made>) => void): void {
    if (this.#order === undefined) make(then);
    else
      this.#order.run(
        (done) =>
          make((made) => {
            try {
              then(made);
            } finally {
              // After a check nothing else hears of a message that cannot be passed on: those after it have their turns.
              done();
            }
          }),
        isDispensable ? maxWaiting : Infinity,
      );
  }

  /** @param isResult whether the payload is the result of a method. @param guardrails those of the message's stage, or the rest of them. */
  #screen(
    message: ScreenedMessage,
    given: Passed<JsonObject>,
    isResult: boolean,
    then: Then<Screened<JsonObject>>,
    guardrails = this.#guardrails.at[message.stage],
  ): void {
    let made = given;
    for (const [index, guardrail] of guardrails.entries()) {
      const { check } = guardrail;
      if (check.kind === 'outside') {
        const { payload, labels } = made;
        const hear = (verdict: Verdict): void => {
          const next = this.#take(guardrail, message, { payload, labels }, verdict);
          if ('fault' in next) then(next);
          else this.#screen(message, next, isResult, then, guardrails.slice(index + 1));
        };
        const { outside } = this.#owner;
        const caller = this.#owner.outsideCaller(this.#wanted);
        if (outside === undefined) hear({ kind: 'failed', problem: 'nobody can be asked here' });
        else outside.ask({ id: guardrail.id, check, message, payload, caller }, hear);
        return;
      }
      const verdict = builtInVerdict(guardrail, check, message, made.payload, isResult);
      if (verdict.kind === 'allow') continue;
      const next = this.#take(guardrail, message, made, verdict);
      if ('fault' in next) {
        then(next);
        return;
      }
      made = next;
    }
    then(made);
  }

  #take(
    guardrail: Guardrail,
    message: ScreenedMessage,
    given: Passed<JsonObject>,
    said: Verdict,
  ): Screened<JsonObject> {
    const { id, check, isRecorded, because } = guardrail;
    if (said.kind === 'allow') return given;
    // Check of an external verdict.
    const problem =
      check.kind === 'outside' && said.kind === 'change' ? changeProblem(given.payload, said.payload) : undefined;
    const verdict: Verdict =
      problem === undefined ? said : { kind: 'failed', problem: `the changed message is none: ${problem}` };
    const { stage } = message;
    const note = (action: GuardrailNote['action'], why?: string): void =>
      this.#note({ guardrail: id, stage, action }, why);
    if (verdict.kind === 'failed') {
      note('failed', verdict.problem);
      return isRecorded || (check.kind === 'outside' && check.isOpen)
        ? given
        : { fault: stopped(id, message, 'it could not be checked', undefined, true) };
    }
    if (isRecorded) {
      note('recorded');
      return given;
    }
    switch (verdict.kind) {
      case 'deny':
        note('denied');
        return {
          fault: stopped(id, message, 'it contains what may not be passed on', verdict.because ?? because, false),
        };
      case 'change':
        note('changed');
        return { ...given, payload: verdict.payload };
      case 'label':
        note('labelled');
        return { ...given, labels: [...given.labels, ...verdict.labels.map((label) => ({ guardrail: id, label }))] };
    }
  }

  #note(note: GuardrailNote, problem?: string): void {
    const { guardrail, stage, action } = note;
    const noted = `${guardrail} ${stage} ${action}`;
    if (this.notes.length < maxNotes && !this.notes.includes(noted)) this.notes.push(noted);
    this.#owner.tell(note, problem, this.#wanted);
  }
}
