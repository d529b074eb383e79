/**
 * The upstream server of the benchmark: a minimal MCP server over Streamable HTTP with the real protocol, so that mainly the gateway in front of it is
 * measured. `/mcp/<n>` is the n-th server, each with the same number of tools, of which every second one only reads.
 *
 * Usage: node upstream.js TOOLS_PER_SERVER
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonRpcRequest } from '@omnibus/protocol';

const toolsPerServer = Number(process.argv[2] ?? 10);
const schema = {
  type: 'object',
  properties: { text: { type: 'string', description: 'What to say back' } },
  required: ['text'],
};
const tools = JSON.stringify(
  Array.from({ length: toolsPerServer }, (_, index) => ({
    name: `tool-${index}`,
    description: `The tool number ${index} of this server, which answers with its text`,
    inputSchema: schema,
    annotations: { readOnlyHint: index % 2 === 1 },
  })),
);
let sessions = 0;

interface Arguments {
  readonly text?: string;
  /** How long the text shall be beside that. */
  readonly bytes?: number;
}

const textOf = ({ text = '', bytes = 0 }: Arguments = {}): string => JSON.stringify(text + 'x'.repeat(bytes));

function resultOf({ method, params }: JsonRpcRequest): string {
  switch (method) {
    case 'initialize':
      return `{"protocolVersion":${JSON.stringify(params?.['protocolVersion'])},"capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`;
    case 'tools/list':
      return `{"tools":${tools}}`;
    case 'tools/call':
      return `{"content":[{"type":"text","text":${textOf(params?.['arguments'] as Arguments | undefined)}}]}`;
    default:
      return '{}';
  }
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') {
    request.resume();
    response.writeHead(405, { 'content-length': 0 }).end();
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const message = JSON.parse(body) as JsonRpcRequest;
    if (message.id === undefined) {
      response.writeHead(202, { 'content-length': 0 }).end();
      return;
    }
    const answer = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultOf(message)}}`;
    const session = message.method === 'initialize' ? { 'mcp-session-id': `bench-${(sessions += 1)}` } : {};
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer), ...session })
      .end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
});
