import type { IncomingMessage } from 'node:http';

/** Forms of ours, and what a client says of itself, are small. */
const maxBytes = 16 * 1_024;
/** Whoever sends more is cut off. */
const cutBytes = 1_024 * 1_024;

/** Somebody has sent what no page of ours sends. */
export class Unwanted extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** @throws {Unwanted} when it is too long. */
export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What is too long is read to its end, so that its sender reads the answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > cutBytes) break;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  if (bytes > maxBytes) throw new Unwanted(413, 'that is too long');
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws {Unwanted} when it is no form, or does not come from a page of ours. */
export async function readForm(request: IncomingMessage, origin: string): Promise<URLSearchParams> {
  const { origin: from, 'content-type': type = '', 'sec-fetch-site': site = 'same-origin' } = request.headers;
  if ((from !== undefined && from !== origin) || site !== 'same-origin') throw new Unwanted(403, 'this form does not come from a page of ours');
  if (!type.startsWith('application/x-www-form-urlencoded')) throw new Unwanted(415, 'expected a form');
  return new URLSearchParams(await readText(request));
}
