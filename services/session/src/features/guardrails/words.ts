/** Messages after guardrails: labelled, or stopped, with the error. */
import { fault, isObject, labelsKey, type GatewayFault, type JsonObject } from '@omnibus/protocol';
import type { Label, ScreenedMessage } from './message.ts';

export interface Passed<Payload> {
  readonly payload: Payload;
  readonly labels: readonly Label[];
}

export type Screened<Payload> = Passed<Payload> | { readonly fault: GatewayFault };

/** The error for the receiver of a message that a guardrail has stopped, in words for a user. */
export function stopped(
  guardrail: string,
  { stage, phase }: ScreenedMessage,
  why: string,
  because: string | undefined,
  isFailure: boolean,
): GatewayFault {
  const data = { guardrail, ...(because === undefined ? {} : { because }) };
  const tail = because === undefined ? '' : ` (${because})`;
  if (stage === 'results') return fault('guardrail.withheld', `the answer was withheld: ${why}${tail}`, data);
  const what =
    stage === 'questions'
      ? 'the question was not asked'
      : phase === 'response'
        ? 'the answer of the client was not passed on'
        : 'the request was not sent';
  return fault(isFailure ? 'guardrail.unavailable' : 'guardrail.denied', `${what}: ${why}${tail}`, data);
}

export function withLabels(payload: JsonObject, labels: readonly Label[]): JsonObject {
  if (labels.length === 0) return payload;
  const meta = payload['_meta'];
  return { ...payload, _meta: { ...(isObject(meta) ? meta : {}), [labelsKey]: labels } };
}
