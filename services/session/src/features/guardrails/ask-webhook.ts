/** Asks an address that the operator chose: a POST of the JSON-RPC request `interceptor/invoke` (SEP-2624), answered with its response. Redirects are not followed. */
import type { WebhookSettings } from '@omnibus/policy';
import { isObject, parseJson, printable, type JsonObject } from '@omnibus/protocol';
import { maxAnswerBytes } from './message.ts';

let count = 0;

/** @returns the `result`. @throws {Error} that says, for the operator, why there is none. */
export async function askWebhook(
  { url, headers }: WebhookSettings,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  count += 1;
  const answer = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal,
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: count, method: 'interceptor/invoke', params }),
  }).catch((error: unknown) => {
    throw new Error(`${new URL(url).origin}: ${reasonOf(error)}`);
  });
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw new Error(`it answers ${answer.status}`);
  }
  const text = await bounded(answer);
  let response: unknown;
  try {
    response = parseJson(text);
  } catch {
    throw new Error('its answer is no JSON');
  }
  if (!isObject(response)) throw new Error('its answer is no JSON-RPC response');
  const { result, error } = response;
  if (isObject(error)) throw new Error(`it answers with an error: ${printable(String(error['message']), 200)}`);
  if (result === undefined) throw new Error('its answer has no "result"');
  return result;
}

/** The body of an answer, which is not read further than its bound. */
async function bounded(answer: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxAnswerBytes) throw new Error(`its answer has more than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
