/**
 * Puts labels on the conversation before the messages of a call that add them are delivered: a client that has a message can have no request decided without
 * its labels. Each message puts them, since an approver may have cleared them after the message before it. Messages keep their order. A message whose labels
 * cannot be recorded is withheld.
 */
import {
  fault,
  isObject,
  labelsKey,
  toErrorObject,
  type ConversationLabel,
  type ExchangeOutcome,
  type GatewayFault,
  type JsonObject,
} from '@omnibus/protocol';
import { unchanged, type CallTransform, type Questioner } from '../../call/transform.ts';

const withheld = fault(
  'flow.unavailable',
  'the labels of this conversation cannot be recorded now, so what the server has sent is withheld; the request may have been executed',
);

export interface LabelledCall {
  /** Labels that each message of the call adds. */
  readonly labels: readonly ConversationLabel[];
  /** The labels that guardrails have put on a result, as far as rules depend on them. */
  readonly guarded: (names: readonly GuardrailLabel[]) => readonly ConversationLabel[];
  /** Left out if no rule about the call depends on labels. @returns why the client may send no more for the call. */
  readonly refusal?: (() => Promise<GatewayFault | undefined>) | undefined;
  /** @returns false if they could not be recorded. */
  readonly put: (labels: readonly ConversationLabel[]) => Promise<boolean>;
}

interface GuardrailLabel {
  readonly guardrail: string;
  readonly label: string;
}

export function labelling({ labels, guarded, refusal, put }: LabelledCall): CallTransform {
  /** Ends when all earlier messages have been passed on; undefined while none waits. */
  let last: Promise<void> | undefined;
  const inOrder = (act: () => void, fail: () => void, more: readonly ConversationLabel[] = []): void => {
    const all = more.length === 0 ? labels : [...labels, ...more];
    if (last === undefined && all.length === 0) {
      act();
      return;
    }
    const turn: Promise<void> = (last ?? Promise.resolve()).then(async () => {
      const isRecorded = all.length === 0 || (await put(all));
      if (last === turn) last = undefined;
      try {
        (isRecorded ? act : fail)();
      } catch (error) {
        // A message that cannot be passed on is a fault of its own: those after it have their turns.
        void Promise.reject(error as Error);
      }
    });
    last = turn;
  };
  return {
    ...unchanged,
    progress: (event, then) => {
      // Numbers alone say nothing.
      if (last === undefined && event.message === undefined && event.more === undefined) then(event);
      else
        inOrder(
          () => then(event),
          () => undefined,
        );
    },
    said: (_event, given, then) =>
      inOrder(
        () => then(given),
        () => undefined,
      ),
    question: (event, then, refuse) =>
      inOrder(
        () => then(event),
        () => refuse({ error: toErrorObject(withheld) }),
      ),
    asker: (waits) => (refusal === undefined ? waits : checked(waits, refusal)),
    after: (act) => {
      if (last === undefined) act();
      else void last.then(act);
    },
    outcome: (given, then) => {
      // A fault is the gateway's own.
      if (given.kind === 'fault') {
        if (last === undefined) then(given);
        else void last.then(() => then(given));
        return;
      }
      inOrder(
        () => then(given),
        () => then({ kind: 'fault', fault: withheld }),
        guarded(guardrailLabelsIn(given)),
      );
    },
  };
}

/** An answer to a question is written after the call began, so it is decided by the labels of its own time. */
function checked(waits: Questioner, refusal: () => Promise<GatewayFault | undefined>): Questioner {
  return {
    id: waits.id,
    answerInput: (input, answer) => {
      if ('error' in answer || saysNothing(answer.result)) waits.answerInput(input, answer);
      else
        void refusal().then((found) =>
          waits.answerInput(input, found === undefined ? answer : { error: toErrorObject(found) }),
        );
    },
    passInputProgress: (input, params) => waits.passInputProgress(input, params),
  };
}

function saysNothing({ action, content }: JsonObject): boolean {
  return (action === 'decline' || action === 'cancel') && content === undefined;
}

/** The labels of guardrails in a result or error (`guardrails/words.ts`). */
function guardrailLabelsIn(outcome: ExchangeOutcome): readonly GuardrailLabel[] {
  const meta =
    outcome.kind === 'result' ? outcome.result['_meta'] : outcome.kind === 'error' ? outcome.error.data : undefined;
  const given = isObject(meta) ? meta[labelsKey] : undefined;
  return Array.isArray(given)
    ? given.flatMap((each: unknown) =>
        isObject(each) && typeof each['label'] === 'string'
          ? [{ guardrail: String(each['guardrail']), label: each['label'] }]
          : [],
      )
    : [];
}
