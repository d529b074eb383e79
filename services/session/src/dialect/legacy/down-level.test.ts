import { describe, expect, it } from 'vitest';
import type { JsonObject, Revision } from '@omnibus/protocol';
import { downLevelQuestion, downLevelResult } from './down-level.ts';

const audio = { type: 'audio', data: 'AA==', mimeType: 'audio/wav' };
const link = { type: 'resource_link', uri: 'file:///a', name: 'a', title: 'The A', description: 'first letter' };
const note = { type: 'text', text: '[audio, audio/wav: not supported by this client]' };
const linkText = { type: 'text', text: 'The A: file:///a\nfirst letter' };

describe('content, for a client of', () => {
  it.each<[Revision, object[]]>([
    ['2025-11-25', [audio, link]],
    ['2025-06-18', [audio, link]],
    ['2025-03-26', [audio, linkText]],
    ['2024-11-05', [note, linkText]],
  ])('%s', (revision, expected) => {
    expect(downLevelResult('tools/call', { content: [audio, link] }, revision)).toEqual({ content: expected });
    const prompt = {
      messages: [
        { role: 'user', content: audio },
        { role: 'user', content: link },
      ],
    };
    expect(downLevelResult('prompts/get', prompt, revision)).toEqual({
      messages: expected.map((content) => ({ role: 'user', content })),
    });
  });

  it('2025-03-26: structured content alone is given as text', () => {
    expect(
      downLevelResult('tools/call', { content: [], structuredContent: { a: 1 } }, '2025-03-26')['content'],
    ).toEqual([{ type: 'text', text: '{"a":1}' }]);
    expect(
      downLevelResult('tools/call', { content: [], structuredContent: { a: 1 } }, '2025-06-18')['content'],
    ).toEqual([]);
  });
});

describe('a question, for a client of 2025-06-18', () => {
  const elicit = (properties: JsonObject) =>
    downLevelQuestion(
      'elicitation/create',
      { message: 'm', mode: 'form', requestedSchema: { $schema: 'x', type: 'object', properties } },
      '2025-06-18',
    );
  const fieldsOf = (properties: JsonObject): unknown =>
    (elicit(properties) as { params: { requestedSchema: JsonObject } }).params.requestedSchema['properties'];

  it('has titled choices as names beside an enumeration', () => {
    expect(
      fieldsOf({
        size: {
          type: 'string',
          oneOf: [
            { const: 's', title: 'Small' },
            { const: 'm', title: 'Medium' },
          ],
        },
      }),
    ).toEqual({ size: { type: 'string', enum: ['s', 'm'], enumNames: ['Small', 'Medium'] } });
  });

  it('has defaults of booleans only', () => {
    expect(fieldsOf({ a: { type: 'boolean', default: true }, b: { type: 'string', default: 'x' } })).toEqual({
      a: { type: 'boolean', default: true },
      b: { type: 'string' },
    });
  });

  it('names no mode and no schema dialect', () => {
    expect(elicit({})).toEqual({ params: { message: 'm', requestedSchema: { type: 'object', properties: {} } } });
  });

  it('cannot take several values, and cannot lead to a URL', () => {
    expect(elicit({ many: { type: 'array', items: { type: 'string', enum: ['a'] } } })).toMatchObject({
      problem: expect.stringContaining('many') as string,
    });
    expect(
      downLevelQuestion('elicitation/create', { mode: 'url', url: 'https://example.com' }, '2025-06-18'),
    ).toHaveProperty('problem');
  });

  it('has one block a message when sampling, and no tools', () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ];
    expect(downLevelQuestion('sampling/createMessage', { messages, maxTokens: 1 }, '2025-06-18')).toEqual({
      params: {
        maxTokens: 1,
        messages: [
          { role: 'user', content: { type: 'text', text: 'a' } },
          { role: 'user', content: { type: 'text', text: 'b' } },
        ],
      },
    });
    expect(downLevelQuestion('sampling/createMessage', { messages, tools: [] }, '2025-06-18')).toHaveProperty(
      'problem',
    );
    expect(
      downLevelQuestion(
        'sampling/createMessage',
        { messages: [{ role: 'user', content: { type: 'tool_result' } }] },
        '2025-06-18',
      ),
    ).toHaveProperty('problem');
  });

  it('is left alone for a client of 2025-11-25', () => {
    const params = { mode: 'url', url: 'https://example.com' };
    expect(downLevelQuestion('elicitation/create', params, '2025-11-25')).toEqual({ params });
  });
});
