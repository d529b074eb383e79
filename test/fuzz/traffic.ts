/** Valid messages of clients of both eras, before mutation. */
import type { JsonObject } from '@omnibus/protocol';
import type { Chooser } from './mutate.ts';
import type { Era } from './server.ts';

const prefix = 'io.modelcontextprotocol/';
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const clientInfo = { name: 'fuzz', version: '1' };

/** Every method that a client may send; names of tools begin with a server's name. */
function methods(server: string): readonly (readonly [method: string, params?: JsonObject])[] {
  const call = (name: string, more: JsonObject = {}): readonly [string, JsonObject] => [
    'tools/call',
    { name: `${server}__${name}`, arguments: { say: 'hello' }, ...more },
  ];
  return [
    call('echo'),
    call('echo', { _meta: { progressToken: 1 } }),
    call('structured'),
    call('ask'),
    call('task', { task: { ttl: 1_000 } }),
    call('talk', { _meta: { progressToken: 't' } }),
    call('fails'),
    ['tools/list'],
    ['tools/list', { cursor: 'tools.abc.1' }],
    ['prompts/list'],
    ['resources/list'],
    ['resources/templates/list'],
    ['ping'],
    ['prompts/get', { name: `${server}__greet`, arguments: { who: 'me' } }],
    ['resources/read', { uri: 'fuzz://one' }],
    ['resources/read', { uri: 'fuzz://a/b/c' }],
    ['resources/subscribe', { uri: 'fuzz://one' }],
    ['resources/unsubscribe', { uri: 'fuzz://one' }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: `${server}__greet` }, argument: { name: 'who', value: 'm' } },
    ],
    ['logging/setLevel', { level: 'debug' }],
    ['tasks/get', { taskId: 'one' }],
    ['tasks/list', {}],
    ['tasks/cancel', { taskId: 'one' }],
    ['tasks/result', { taskId: 'one' }],
    ['tasks/update', { taskId: 'one', inputResponses: {} }],
  ];
}

export interface Sent {
  readonly message: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request of 2026-07-28. */
function modernMessage(era: Era, server: string, id: number, choose: Chooser): Sent {
  const [method, given = {}] = choose.of([
    ...methods(server),
    ['server/discover'],
    ['subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: ['fuzz://one'] } }],
  ] as const);
  const meta = {
    ...(given as { readonly _meta?: JsonObject })._meta,
    [`${prefix}protocolVersion`]: era,
    [`${prefix}clientCapabilities`]: capabilities,
    [`${prefix}clientInfo`]: clientInfo,
  };
  const more = choose.chance(0.1)
    ? { inputResponses: { q: { action: 'accept', content: {} } }, requestState: 'state' }
    : {};
  const params: JsonObject = { ...given, ...more, _meta: meta };
  const name = params['name'] ?? params['uri'] ?? params['taskId'];
  return {
    message: { jsonrpc: '2.0', id, method, params },
    headers: {
      'mcp-protocol-version': era,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...(method === 'tools/call' && String(name).endsWith('echo') ? { 'mcp-param-say': 'hello' } : {}),
    },
  };
}

/**
 * A message of the era with its headers. One in ten is a notification, an answer or the beginning of a session.
 * @param previous the id of the previous message of the same client.
 */
export function validMessage(era: Era, server: string, id: number, choose: Chooser, previous = id - 1): Sent {
  if (era === '2026-07-28') return modernMessage(era, server, id, choose);
  const headers = { 'mcp-protocol-version': era };
  switch (choose.below(40)) {
    case 0:
      return {
        message: {
          jsonrpc: '2.0',
          id,
          method: 'initialize',
          params: { protocolVersion: era, capabilities, clientInfo },
        },
        headers: {},
      };
    case 1:
      return {
        message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: previous, reason: 'no' } },
        headers,
      };
    case 2:
      return {
        message: {
          jsonrpc: '2.0',
          method: choose.of([
            'notifications/initialized',
            'notifications/roots/list_changed',
            'notifications/progress',
          ]),
          params: { progressToken: 1, progress: 1 },
        },
        headers,
      };
    case 3:
      return {
        message: { jsonrpc: '2.0', id: choose.of([id, String(id), 'q1']), result: { action: 'accept', content: {} } },
        headers,
      };
    case 4:
      return { message: { jsonrpc: '2.0', id, error: { code: -1, message: 'no' } }, headers };
    default: {
      const [method, params] = choose.of(methods(server));
      return {
        message: params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params },
        headers,
      };
    }
  }
}

export const initialize: JsonObject = {
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities, clientInfo },
};

/** Headers as a careless or hostile client writes them. Null bytes and line breaks need a raw socket. */
export function mutatedHeaders(headers: Readonly<Record<string, string>>, choose: Chooser): Record<string, string> {
  const changed: Record<string, string> = { ...headers };
  const name = choose.of([
    ...Object.keys(headers),
    'accept',
    'content-type',
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
    'origin',
    'traceparent',
    'mcp-param-x',
    'mcp-name',
  ]);
  if (choose.chance(0.3)) Reflect.deleteProperty(changed, name);
  else
    changed[name] = choose.of([
      '',
      'x',
      '*/*',
      'application/json; charset=utf-16',
      'text/plain',
      '1999-01-01',
      '2026-07-28',
      '2025-03-26',
      '=?base64?!!!?=',
      '=?base64?AAAA?=',
      'x'.repeat(3_000),
      '__proto__',
      '..',
      '%00%ff',
      'http://evil.example',
      '0-0-0',
      `${changed[name] ?? ''},${changed[name] ?? ''}`,
    ]);
  return changed;
}
