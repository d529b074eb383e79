import type { IncomingMessage } from 'node:http';
import { fault, type GatewayFault } from '@omnibus/protocol';

/** Reads a body of at most `maxBytes`. Says nothing when the client goes away in the middle. */
export function readBody(request: IncomingMessage, maxBytes: number, done: (body: Buffer | GatewayFault) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isRefused = false;
  const refuse = (): void => {
    isRefused = true;
    done(fault('message.too_large', `the body is larger than ${maxBytes} bytes`, { maxBytes }));
  };
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    refuse();
    return;
  }
  request.on('data', (chunk: Buffer) => {
    if (isRefused) return;
    bytes += chunk.length;
    if (bytes > maxBytes) refuse();
    else chunks.push(chunk);
  });
  request.on('end', () => {
    if (!isRefused) done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
  });
}
