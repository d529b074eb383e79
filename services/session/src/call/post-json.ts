/** Asks an address that the operator chose: a POST of JSON, answered with JSON. Redirects are not followed, and an answer is not read further than its bound. */
import { parseJson, readWithin, type JsonObject } from '@omnibus/protocol';

export interface Asked {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Bound on the bytes of the answer. */
  readonly maxBytes: number;
}

/** @returns the body of an answer with the status 200. @throws {Error} that says, for the operator, why there is none. */
export async function postJson({ url, headers, body, maxBytes }: Asked, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal,
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  }).catch((error: unknown) => {
    throw new Error(`${new URL(url).origin}: ${reasonOf(error)}`);
  });
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw new Error(`it answers ${answer.status}`);
  }
  const bytes = await readWithin(answer.body, maxBytes, () => new Error(`its answer has more than ${maxBytes} bytes`));
  try {
    return parseJson(bytes.toString());
  } catch {
    throw new Error('its answer is no JSON');
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
