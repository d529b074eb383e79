/**
 * A minimal proxy for this traffic: parse, new id, dispatch, parse, write. It has no routing, checks or sessions; its cost is the basis of the ratios.
 *
 * Usage: node thin-proxy.js UPSTREAM_URL
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import type { JsonRpcId } from '@omnibus/protocol';

const upstream = new URL(process.argv[2] as string);
const pool = new Pool(upstream.origin, { bodyTimeout: 0, headersTimeout: 0 });
let nextId = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const message = JSON.parse(Buffer.concat(chunks).toString()) as { id?: JsonRpcId };
    const { id } = message;
    nextId += 1;
    const forwarded = JSON.stringify(id === undefined ? message : { ...message, id: nextId });
    const answer: Buffer[] = [];
    let status = 0;
    let session: Record<string, string> = {};
    pool.dispatch(
      {
        method: 'POST',
        path: upstream.pathname,
        body: forwarded,
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code, headers) => {
          status = code;
          const value = headers['mcp-session-id'];
          if (typeof value === 'string') session = { 'mcp-session-id': value };
        },
        onResponseData: (_controller, chunk) => void answer.push(chunk),
        onResponseEnd: () => {
          if (id === undefined) {
            response.writeHead(status, { 'content-length': 0 }).end();
            return;
          }
          const text = JSON.stringify({ ...(JSON.parse(Buffer.concat(answer).toString()) as object), id });
          response
            .writeHead(status, {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(text),
              ...session,
            })
            .end(text);
        },
        onResponseError: (_controller, error) => void response.writeHead(502).end(error.message),
      },
    );
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
});
