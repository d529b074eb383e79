import { describe, expect, it } from 'vitest';
import type { CallCommand, ExchangeOutcome, JsonObject, ToolEntry } from '@omnibus/protocol';
import { parseServerName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { SchemaChecks, type ValidationMode } from './schema-checks.ts';

const add = {
  name: 'add',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
} as unknown as ToolEntry;

async function checks(mode: ValidationMode, tool: ToolEntry = add) {
  const counted: string[] = [];
  const made = new SchemaChecks({
    mode, server: parseServerName('math'), tool: (name) => (name === tool.name ? tool : undefined), log: createLogger({ level: 'silent', format: 'json' }),
    metrics: { schemaProblem: (_server, what) => void counted.push(what) },
  });
  await made.start();
  return { made, counted };
}

const call = (args: JsonObject | undefined, name = 'add') => ({ method: 'tools/call', params: { name, arguments: args } }) as unknown as CallCommand;
const result = (more: JsonObject): ExchangeOutcome => ({ kind: 'result', result: { content: [], ...more } });

describe('what goes to a server and comes from it, held against its schemas', () => {
  it('arguments that do not fit are refused as an error of the tool that names the member, where that is enforced', async () => {
    const { made, counted } = await checks('enforce');
    expect(made.refusal(call({ a: 1, b: 2 }))).toBeUndefined();
    expect(made.refusal(call({ a: 1, b: 'two' }))).toMatchObject({ kind: 'result', result: { isError: true, content: [{ text: expect.stringContaining('b must be number') as string }] } });
    expect(made.refusal(call(undefined))).toMatchObject({ result: { isError: true } });
    expect(made.refusal(call({ anything: true }, 'unknown'))).toBeUndefined();
    expect(counted).toEqual(['arguments', 'arguments']);
  });

  it('by default what does not fit is counted and passed on', async () => {
    const { made, counted } = await checks('warn');
    expect(made.refusal(call({ a: 'one' }))).toBeUndefined();
    const bad = result({ structuredContent: { sum: 'three' } });
    expect(made.checked(call({}), bad)).toBe(bad);
    expect(counted).toEqual(['arguments', 'result']);
  });

  it('nothing is looked at where it is off', async () => {
    const { made, counted } = await checks('off');
    expect(made.refusal(call({ a: 'one' }))).toBeUndefined();
    expect(counted).toEqual([]);
  });

  it('a result that is not what the server promised is the server\'s fault; errors of tools, tasks and questions are not held against it', async () => {
    const { made } = await checks('enforce');
    expect(made.checked(call({}), result({ structuredContent: { sum: 'three' } }))).toMatchObject({ kind: 'fault', fault: { reason: 'upstream.invalid' } });
    expect(made.checked(call({}), result({}))).toMatchObject({ kind: 'fault' });
    for (const fine of [result({ structuredContent: { sum: 3 } }), result({ isError: true }), result({ task: {} }), result({ resultType: 'input_required' })]) expect(made.checked(call({}), fine)).toBe(fine);
  });

  it('answers of clients are held against what was asked', async () => {
    const { made } = await checks('enforce');
    const form = { requestedSchema: { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] } };
    const fits = { result: { action: 'accept', content: { age: 36 } } };
    expect(made.answer('elicitation/create', form, fits)).toBe(fits);
    expect(made.answer('elicitation/create', form, { result: { action: 'accept', content: { age: 'old' } } })).toMatchObject({ error: { code: -32_602, message: expect.stringContaining('age must be integer') as string } });
    const declined = { result: { action: 'decline' } };
    expect(made.answer('elicitation/create', form, declined)).toBe(declined);
    expect(made.answer('sampling/createMessage', {}, { result: { role: 'assistant' } })).toMatchObject({ error: { code: -32_602 } });
    expect(made.answer('roots/list', {}, { result: { roots: [{ name: 'no address' }] } })).toMatchObject({ error: { code: -32_602 } });
  });

  it('a schema that cannot be used stops nobody', async () => {
    const { made, counted } = await checks('enforce', { name: 'add', inputSchema: { type: 'object', $ref: 'http://127.0.0.1:1/' } } as unknown as ToolEntry);
    expect(made.refusal(call({ a: 'anything' }))).toBeUndefined();
    expect(counted).toEqual([]);
  });
});
