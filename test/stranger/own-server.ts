/** A first server of a new user, without a library. */
export const ownServer = `import { createInterface } from 'node:readline';
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'own', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'greet', inputSchema: { type: 'object', properties: { name: { type: 'string' } } } }] }),
  'tools/call': ({ arguments: { name } }) => ({ content: [{ type: 'text', text: 'hello ' + name }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const said = answer ? { result: answer(params) } : { error: { code: -32601, message: 'unknown' } };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
}
`;
