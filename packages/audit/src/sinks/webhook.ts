/** Posts batches of lines to an address, which answers 2xx when it has stored them. */
import { sha256 } from '../sha256.ts';
import type { Batch } from '../lines.ts';
import type { Sink } from '../sink.ts';

export interface WebhookSinkOptions {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const answerMs = 10_000;

export class WebhookSink implements Sink {
  readonly name: string;
  readonly batch = { lines: 500, bytes: 512 * 1024 } as const;
  readonly #options: WebhookSinkOptions;

  constructor(options: WebhookSinkOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async write(lines: Batch): Promise<void> {
    const { url, headers } = this.#options;
    const body = Buffer.concat(lines.pieces()).toString();
    await post(url, body, { 'content-type': 'application/x-ndjson', 'idempotency-key': sha256(body), ...headers });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** @throws {Error} when the batch is not accepted; the message names only the origin of the address. */
export async function post(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    body,
    headers,
    redirect: 'error',
    signal: AbortSignal.timeout(answerMs),
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`${new URL(url).origin} answers ${answer.status}`);
}
