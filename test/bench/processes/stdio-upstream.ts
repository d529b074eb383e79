/** The upstream server on stdin and stdout, for gateways that support only this transport. */
import { createInterface } from 'node:readline';
import type { JsonRpcRequest } from '@omnibus/protocol';

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as JsonRpcRequest;
  if (id === undefined) return;
  const result =
    method === 'initialize'
      ? {
          protocolVersion: params?.['protocolVersion'],
          capabilities: { tools: {} },
          serverInfo: { name: 'bench', version: '1' },
        }
      : method === 'tools/list'
        ? { tools: [{ name: 'tool-0', description: 'answers with its text', inputSchema: { type: 'object' } }] }
        : method === 'tools/call'
          ? { content: [{ type: 'text', text: (params?.['arguments'] as { text?: string } | undefined)?.text ?? '' }] }
          : {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
