import type { IncomingMessage, ServerResponse } from 'node:http';
import { Pieces } from '@omnibus/collections';

/** Bound on a form, and on most requests to the admin port. */
export const maxSmallBodyBytes = 16 * 1024;
/** A sender of more than this, or of eight times the bound, is cut off. */
const cutBytes = 1024 * 1024;

/**
 * Reads the text of a request that must be small. The rest of a body that is too long is discarded, so that its sender reads the answer instead of a
 * connection reset (RFC 9112, 9.6).
 * @param mostBytes bound on the text.
 * @returns undefined as soon as it has more.
 * @throws {Error} when the client leaves before the end of the body.
 */
export function readSmallBody(request: IncomingMessage, mostBytes = maxSmallBodyBytes): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const body = new Pieces();
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= mostBytes) body.add(chunk);
      else resolve(undefined);
      if (bytes > Math.max(cutBytes, 8 * mostBytes)) request.destroy();
    });
    request.on('end', () => resolve(body.joined().toString('utf8')));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the client left before the end of its request')));
  });
}

/** Answers a program with an object that nothing on the way stores. */
export function sendJson(response: ServerResponse, status: number, value: object): void {
  const text = JSON.stringify(value);
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    })
    .end(text);
}
