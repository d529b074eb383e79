/** Servers with everything, their answers, and an audit that a test reads: shared by tests of what happens to messages of servers. */
import type { Audit, AuditEvent } from '@omnibus/audit';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  tasksExtension,
  type CatalogRecord,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';

/** @param events where each record goes. */
export function auditIn(events: AuditEvent[], wantsResults = false): Audit {
  return {
    isStrict: false,
    wantsResults,
    wants: () => true,
    record: (event) => void events.push(event),
    confirm: () => Promise.resolve(true),
  };
}

/** The answer of a server: a result with one text. */
export function textOf(text: string, more: JsonObject = {}): ExchangeEvent {
  return { kind: 'result', result: { content: [{ type: 'text', text }], ...more } };
}

/** Requests to the server `crm` (`serverOf`) of each kind, with an answer that contains a text. */
export function answersWith(text: string): readonly (readonly [string, JsonObject, ExchangeEvent])[] {
  const tell = { name: 'crm__tell', arguments: {} };
  const result = (made: JsonObject): ExchangeEvent => ({ kind: 'result', result: made });
  return [
    ['tools/call', tell, textOf(`write to ${text}`)],
    ['tools/call', tell, textOf(text, { isError: true })],
    ['tools/call', tell, { kind: 'error', error: { code: -32_000, message: `no such: ${text}`, data: { text } } }],
    ['tools/call', tell, { kind: 'fault', fault: { reason: 'upstream.refused', message: `answered: ${text}` } }],
    ['prompts/get', { name: 'crm__ask' }, result({ messages: [{ role: 'user', content: { type: 'text', text } }] })],
    ...['crm://one', 'crm://on-no-list'].map(
      (uri) => ['resources/read', { uri }, result({ contents: [{ uri, text }] })] as const,
    ),
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'crm__ask' }, argument: { name: 'a', value: '' } },
      result({ completion: { values: [text] } }),
    ],
  ];
}

/** A server with tools that may run as tasks, a prompt and a resource. @param tools more of them. */
export function serverOf(name: string, tools: CatalogRecord['lists']['tools'] = []): Partial<CatalogRecord> {
  const asTask = { inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } };
  return {
    revision: latestLegacyRevision,
    capabilities: {
      tools: {},
      prompts: {},
      resources: {},
      completions: {},
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    lists: {
      ...noLists,
      tools: [...['find', 'tell'].map((tool) => ({ name: tool, ...asTask })), ...tools],
      prompts: [{ name: 'ask' }],
      resources: [{ uri: `${name}://one`, name: 'one' }],
    },
  };
}

/** Capabilities of a client that takes tasks. */
export function takingTasks(revision: Revision): JsonObject {
  return revision === latestModernRevision ? { extensions: { [tasksExtension]: {} } } : { tasks: {} };
}

/** The first text of a result; the whole as JSON if it has none. */
export function textIn(result: JsonObject): string {
  return (result['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(result);
}
