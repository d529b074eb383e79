/** Asks an address that the operator chose: a POST of the JSON-RPC request `interceptor/invoke` (SEP-2624), answered with its response. */
import type { WebhookSettings } from '@omnibus/policy';
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { postJson } from '../../call/post-json.ts';
import { maxAnswerBytes } from './message.ts';

let count = 0;

/** @returns the `result`. @throws {Error} that says, for the operator, why there is none. */
export async function askWebhook(
  { url, headers }: WebhookSettings,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  count += 1;
  const body = { jsonrpc: '2.0', id: count, method: 'interceptor/invoke', params };
  const response = await postJson({ url, headers, body, maxBytes: maxAnswerBytes }, signal);
  if (!isObject(response)) throw new Error('its answer is no JSON-RPC response');
  const { result, error } = response;
  if (isObject(error)) throw new Error(`it answers with an error: ${printable(String(error['message']), 200)}`);
  if (result === undefined) throw new Error('its answer has no "result"');
  return result;
}
