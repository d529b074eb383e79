/** The messages of a correct server of this suite, in either era, for any transport. It has no state and sends nothing unasked. */
import { isObject, type JsonObject, type JsonRpcId } from '@omnibus/protocol';
import { ownError } from './judge.ts';

export type Era = '2025-11-25' | '2026-07-28';

const text = (said: string): JsonObject => ({ content: [{ type: 'text', text: said }] });
const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};
const serverInfo = { name: 'fuzzed', version: '1' };

const tools = [
  {
    name: 'echo',
    description: 'Says it again',
    inputSchema: { type: 'object', properties: { say: { type: 'string', 'x-mcp-header': 'Say' } } },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'structured',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'array', items: { $ref: '#/definitions/a' }, definitions: { a: { type: 'number' } } },
  },
  { name: 'ask', inputSchema: { type: 'object' } },
  { name: 'task', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } },
  { name: 'talk', inputSchema: { type: 'object' } },
  { name: 'fails', inputSchema: { type: 'object' } },
];
const lists: Readonly<Record<string, JsonObject>> = {
  'tools/list': { tools },
  'prompts/list': { prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }] },
  'resources/list': { resources: [{ uri: 'fuzz://one', name: 'one' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'fuzz://{a}/{+b}', name: 'any' }] },
};

/** The messages in answer to one message, in order. A `question` comes before the answer, which does not wait for it. */
export function honestly(message: unknown, era: Era): JsonObject[] {
  if (!isObject(message) || typeof message['method'] !== 'string' || !('id' in message)) return [];
  const id = message['id'] as JsonRpcId;
  const params = isObject(message['params']) ? message['params'] : {};
  const answer = (result: JsonObject): JsonObject => ({
    jsonrpc: '2.0',
    id,
    result: era === '2026-07-28' ? { resultType: 'complete', ...result } : result,
  });
  const refuse = (error: JsonObject): JsonObject => ({ jsonrpc: '2.0', id, error });
  const list = lists[message['method']];
  if (list !== undefined)
    return [answer(era === '2026-07-28' ? { ...list, ttlMs: 60_000, cacheScope: 'private' } : list)];
  switch (message['method']) {
    case 'server/discover':
      return [
        era === '2026-07-28'
          ? answer({
              supportedVersions: ['2026-07-28'],
              capabilities,
              serverInfo,
              ttlMs: 60_000,
              cacheScope: 'private',
            })
          : refuse({ code: -32_601, message: 'unknown', data: { own: true } }),
      ];
    case 'initialize':
      return [answer({ protocolVersion: '2025-11-25', capabilities, serverInfo, instructions: 'Be kind.' })];
    case 'tools/call':
      return call(params, era, answer, refuse, id);
    case 'prompts/get':
      return [answer({ messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] })];
    case 'resources/read':
      return [answer({ contents: [{ uri: params['uri'], text: 'content' }] })];
    case 'completion/complete':
      return [answer({ completion: { values: ['one', 'two'], total: 2, hasMore: false } })];
    case 'tasks/get':
      return [
        answer({
          taskId: params['taskId'],
          status: 'completed',
          ttl: 1_000,
          createdAt: '2026-01-01T00:00:00Z',
          lastUpdatedAt: '2026-01-01T00:00:00Z',
        }),
      ];
    case 'tasks/result':
      return [answer(text('of the task'))];
    case 'tasks/list':
      return [answer({ tasks: [] })];
    case 'ping':
    case 'logging/setLevel':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return [answer({})];
    default:
      return [refuse(ownError)];
  }
}

function call(
  params: JsonObject,
  era: Era,
  answer: (result: JsonObject) => JsonObject,
  refuse: (error: JsonObject) => JsonObject,
  id: JsonRpcId,
): JsonObject[] {
  const question = {
    method: 'elicitation/create',
    params: { message: 'Well?', requestedSchema: { type: 'object', properties: {} } },
  };
  switch (params['name']) {
    case 'structured':
      return [
        answer({ content: [{ type: 'resource_link', uri: 'fuzz://linked', name: 'l' }], structuredContent: [1, 2] }),
      ];
    case 'ask':
      return era === '2026-07-28'
        ? [answer({ resultType: 'input_required', inputRequests: { q: question }, requestState: 'state' })]
        : [{ jsonrpc: '2.0', id: `q${JSON.stringify(id)}`, ...question }, answer(text('asked'))];
    case 'task':
      return [
        answer(
          isObject(params['task'])
            ? {
                task: {
                  taskId: 'one',
                  status: 'working',
                  ttl: 1_000,
                  pollInterval: 10,
                  createdAt: '2026-01-01T00:00:00Z',
                  lastUpdatedAt: '2026-01-01T00:00:00Z',
                },
              }
            : text('at once'),
        ),
      ];
    case 'talk': {
      const progressToken = isObject(params['_meta']) ? params['_meta']['progressToken'] : 1;
      return [
        { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } },
        { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'said' } },
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
        { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'fuzz://one' } },
        answer(text('talked')),
      ];
    }
    case 'fails':
      return [refuse(ownError)];
    default:
      return [answer(text(JSON.stringify(params['arguments'] ?? {})))];
  }
}
