/**
 * A Streamable HTTP server that sends whatever a test wants, including bytes that no library would send. Requests that the test does not handle are
 * answered as by a correct server of 2025-11-25.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';

export interface HeardMessage {
  readonly id?: JsonRpcId;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
}

export interface HostileOptions {
  /** @returns true when it has answered, or will. */
  readonly post?: ((message: HeardMessage, response: ServerResponse, request: IncomingMessage) => boolean) | undefined;
  /** Default: 405. */
  readonly get?: (response: ServerResponse, request: IncomingMessage) => void;
  /** `Mcp-Session-Id` of the answer to `initialize`. */
  readonly session?: string | undefined;
}

export interface Hostile extends AsyncDisposable {
  readonly url: string;
  readonly posts: Heard<HeardMessage>;
  /** `Last-Event-ID` of each GET. */
  readonly gets: Heard<string | undefined>;
}

export async function startHostile({ post, get, session = 'session-1' }: HostileOptions): Promise<Hostile> {
  const posts = new Heard<HeardMessage>();
  const gets = new Heard<string | undefined>();
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    if (request.method === 'GET') {
      gets.add(request.headers['last-event-id'] as string | undefined);
      if (get === undefined) response.writeHead(405).end();
      else get(response, request);
      return;
    }
    void text(request).then((body) => {
      if (request.method !== 'POST') {
        response.writeHead(204).end();
        return;
      }
      const message = JSON.parse(body) as HeardMessage;
      posts.add(message);
      if (post?.(message, response, request) === true) return;
      if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
      else if (message.method === 'initialize')
        answer(
          response,
          message.id,
          { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'hostile', version: '1' } },
          { 'mcp-session-id': session },
        );
      else if (message.method === 'server/discover')
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } }));
      else if (message.method === 'tools/list')
        answer(response, message.id, { tools: [{ name: 'act', inputSchema: { type: 'object' } }] });
      else
        answer(
          response,
          message.id,
          message.method === 'tools/call' ? { content: [{ type: 'text', text: 'done' }] } : {},
        );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    posts,
    gets,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

export function answer(
  response: ServerResponse,
  id: JsonRpcId | undefined,
  result: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(200, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

export function openEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
}

/** JSON of arrays within arrays. */
export function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}
