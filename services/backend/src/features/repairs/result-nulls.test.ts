import {
  CallToolResultSchema,
  CompleteResultSchema,
  GetPromptResultSchema,
  ReadResourceResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ExchangeMethod, ExchangeOutcome, JsonObject } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { mayHoldNulls, withoutNullMembers } from './result-nulls.ts';

function repair(
  method: ExchangeMethod,
  result: JsonObject,
  mayBeNull = false,
): { result: JsonObject; notes: string[] } {
  const notes: string[] = [];
  const outcome: ExchangeOutcome = { kind: 'result', result };
  if (!mayHoldNulls(outcome)) return { result, notes };
  const made = withoutNullMembers(
    method,
    outcome,
    () => mayBeNull,
    (place) => notes.push(place),
  );
  if (made.kind !== 'result') throw new Error('no result');
  return { result: made.result, notes };
}

it.each<[ExchangeMethod, { safeParse(value: unknown): { success: boolean } }, JsonObject, string[]]>([
  [
    'tools/call',
    CallToolResultSchema,
    {
      content: [{ type: 'text', text: 'x', annotations: null, _meta: null }],
      structuredContent: null,
      isError: null,
      _meta: null,
    },
    ['isError', '_meta', 'content[0].annotations', 'content[0]._meta', 'structuredContent'],
  ],
  [
    'tools/call',
    CallToolResultSchema,
    {
      content: [
        { type: 'resource', resource: { uri: 'a:b', text: 'x', mimeType: null }, annotations: { audience: null } },
      ],
    },
    ['content[0].resource.mimeType', 'content[0].annotations.audience'],
  ],
  [
    'resources/read',
    ReadResourceResultSchema,
    { contents: [{ uri: 'a:b', text: 'x', blob: null, mimeType: null }] },
    ['contents[0].blob', 'contents[0].mimeType'],
  ],
  [
    'prompts/get',
    GetPromptResultSchema,
    { description: null, messages: [{ role: 'user', content: { type: 'text', text: 'x', annotations: null } }] },
    ['description', 'messages[0].content.annotations'],
  ],
  [
    'completion/complete',
    CompleteResultSchema,
    { completion: { values: ['a'], total: null, hasMore: null } },
    ['completion.total', 'completion.hasMore'],
  ],
  ['tools/call', CallToolResultSchema, { content: null, _meta: [] }, ['content', '_meta']],
  ['resources/read', ReadResourceResultSchema, { contents: null }, ['contents']],
  ['prompts/get', GetPromptResultSchema, { messages: null }, ['messages']],
  ['completion/complete', CompleteResultSchema, { completion: { values: null } }, ['completion.values']],
])('the official client takes a result of %s whose unset members are null', (method, schema, result, places) => {
  expect(schema.safeParse(result).success).toBe(false);
  const { result: made, notes } = repair(method, result);
  expect(notes).toEqual(places);
  expect(schema.safeParse(made).success).toBe(true);
});

it('data stays as it is, and a result without such members is the same object', () => {
  const data = { content: [], structuredContent: { a: null, b: [null] }, _meta: { 'own/x': null }, own: null };
  expect(repair('tools/call', data)).toEqual({ result: data, notes: [] });
  expect(repair('tools/call', { content: [], structuredContent: null }, true).notes).toEqual([]);
  const plain: ExchangeOutcome = {
    kind: 'result',
    result: { content: [{ type: 'text', text: 'x' }], structuredContent: { a: null } },
  };
  expect(mayHoldNulls(plain)).toBe(false);
  expect(
    withoutNullMembers(
      'tools/call',
      plain,
      () => false,
      () => undefined,
    ),
  ).toBe(plain);
});
