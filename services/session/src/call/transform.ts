/** What changes the messages of a call between its server and its client: redaction and guardrails. It keeps their order. */
import type {
  Asker,
  ExchangeEvent,
  ExchangeOutcome,
  GatewayFault,
  InputAnswer,
  InputKey,
  JsonObject,
  Labels,
  ProgressEvent,
} from '@omnibus/protocol';

/** The party that waits for a client's answer to a question: a call, the gateway before a call, or a session itself. */
export interface Questioner {
  readonly id: Asker;
  answerInput(input: InputKey, answer: InputAnswer): void;
  passInputProgress(input: InputKey, params: JsonObject): void;
}

type Then<Made> = (made: Made) => void;
type Input = Extract<ExchangeEvent, { kind: 'input' }>;

/** Each member calls `then` at once or later, at most once; not at all if the message must not be passed on. */
export interface CallTransform {
  progress(event: ProgressEvent, then: Then<ProgressEvent>): void;
  /** @param event method of the notification. */
  said<Said extends JsonObject | undefined>(event: string, given: Said, then: Then<Said>): void;
  /** @param refuse answers the server in the client's place. */
  question(event: Input, then: Then<Input>, refuse: Then<InputAnswer>): void;
  /** Acts after all earlier messages: a question may not be withdrawn before it was sent. */
  after(act: () => void): void;
  outcome(given: ExchangeOutcome, then: Then<ExchangeOutcome>): void;
  /** Whether `outcome` would pass each one on at once, as it is, so that it need not be called. */
  readonly passesOutcomes?: boolean;
  /** @param waits gets the client's answers. @returns the receiver of the client's answers, which passes them on. */
  asker(waits: Questioner): Questioner;
}

/** A label, and the rule that adds it. */
export interface AddedLabel {
  readonly label: string;
  readonly rule: string;
}

/** A transform that also stops messages, and inspects the client's messages. */
export interface CallScreen extends CallTransform {
  /** Its decisions, for the record. */
  readonly notes: readonly string[];
  /** Whether it may take something out of messages, so that they are not shown elsewhere. */
  readonly takesOut: boolean;
  /** Labels that its messages add to the conversation. */
  readonly labels: readonly AddedLabel[];
  /** The name or URI of the thing that the messages are about. */
  readonly item: string;
  /** Whether rules that depend on labels are about it. */
  readonly flows: boolean;
  /** Why the client may send no more for the request with these labels; undefined if it may, or if the decision was the same at the beginning. */
  refusalAfter(labels: Labels): GatewayFault | undefined;
  /** Tells it the method of a question that another screen has seen, by which `asker` looks at the answer. */
  asks(input: InputKey, method: string): void;
  /** Takes over the notes of the request's earlier screen. */
  goesOnFrom(before: CallScreen | undefined): void;
  looksAt(stage: 'requests' | 'results' | 'questions'): boolean;
  /** @param params with the server's own names. */
  request(params: JsonObject, then: Then<Screened>): void;
}

export type Screened = { readonly payload: JsonObject } | { readonly fault: GatewayFault };

/** Passes every message on as it is. */
export const unchanged: CallTransform = {
  progress: (event, then) => then(event),
  said: (_event, given, then) => then(given),
  question: (event, then) => then(event),
  after: (act) => act(),
  outcome: (given, then) => then(given),
  asker: (waits) => waits,
};
