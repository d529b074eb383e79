/** Built-in checks of messages: sizes and texts. */
import type { Guardrail } from '@omnibus/policy';
import { isObject, isRawNumber, type JsonObject } from '@omnibus/protocol';
import type { ScreenedMessage, Verdict } from './message.ts';

/** Members of a request that name something: they are looked at, and cannot be changed. */
const naming: ReadonlySet<string> = new Set(['uri', 'ref']);
/** Members of a request that belong to the protocol. */
const ofProtocol: ReadonlySet<string> = new Set(['name', 'taskId', 'cursor', 'requestState', 'task', 'level']);

type SizeCheck = Extract<Guardrail['check'], { readonly kind: 'size' }>;
type BuiltIn = Exclude<Guardrail['check'], { readonly kind: 'outside' }>;

/** @param isResult whether the payload is the result of a method; any other message has no parts that are treated differently. */
export function builtInVerdict(
  { action, label }: Guardrail,
  check: BuiltIn,
  { stage, phase }: ScreenedMessage,
  payload: JsonObject,
  isResult: boolean,
): Verdict {
  if (check.kind === 'size')
    return isTooLarge(check.most, { stage, phase }, payload, isResult) ? found(action, label) : { kind: 'allow' };
  const { redaction } = check;
  if (stage !== 'requests' || phase === 'response') {
    const changed = isResult ? redaction.result(payload) : redaction.said(payload);
    return changed === payload
      ? { kind: 'allow' }
      : action === 'change'
        ? { kind: 'change', payload: changed }
        : found(action, label);
  }
  const changed: (readonly [name: string, said: unknown])[] = [];
  for (const [name, value] of Object.entries(payload)) {
    const said = ofProtocol.has(name) ? value : redaction.said(value);
    if (said !== value) changed.push([name, said]);
  }
  if (changed.length === 0) return { kind: 'allow' };
  if (action !== 'change') return found(action, label);
  return changed.some(([name]) => naming.has(name))
    ? { kind: 'deny' }
    : { kind: 'change', payload: { ...payload, ...Object.fromEntries(changed) } };
}

function isTooLarge(
  { arguments: ofArguments = Infinity, result = Infinity, text = Infinity }: SizeCheck['most'],
  { stage, phase }: Pick<ScreenedMessage, 'stage' | 'phase'>,
  payload: JsonObject,
  isResult: boolean,
): boolean {
  return (
    (stage === 'requests' &&
      ofArguments < Infinity &&
      lengthOf(phase === 'request' ? (payload['arguments'] ?? {}) : payload) > ofArguments) ||
    (isResult && result < Infinity && lengthOf(payload) > result) ||
    (text < Infinity && hasLonger(payload, text))
  );
}

function found(action: Guardrail['action'], label: string): Verdict {
  return action === 'label' ? { kind: 'label', labels: [label] } : { kind: 'deny' };
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** Whether some text in it is longer. */
function hasLonger(value: unknown, most: number): boolean {
  if (typeof value === 'string') return value.length > most;
  if (Array.isArray(value)) return value.some((item) => hasLonger(item, most));
  return isObject(value) && !isRawNumber(value) && Object.values(value).some((member) => hasLonger(member, most));
}
