import type { IncomingMessage } from 'node:http';

/** Bound on a form, or on a request to the admin port. */
export const maxSmallBodyBytes = 16 * 1024;
/** A sender of more than this is cut off. */
const cutBytes = 1024 * 1024;

/**
 * Reads the text of a request that has to be small. A body that is too long is read on for a while, so that its sender reads the answer.
 * @returns undefined when it has more than `maxSmallBodyBytes`.
 */
export async function readSmallBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > cutBytes) break;
    if (bytes <= maxSmallBodyBytes) chunks.push(chunk);
  }
  return bytes > maxSmallBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}
