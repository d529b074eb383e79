import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import { LineClient } from '@omnibus/client';
import type { Opened } from '../client/open.ts';
import { all } from './use.ts';

/** A server of lists: answers each request with what `answer` returns. */
function opened(answer: (params: JsonObject) => object): { readonly target: Opened; readonly asked: JsonObject[] } {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const asked: JsonObject[] = [];
  createInterface({ input: output }).on('line', (line) => {
    const message = parseJson(line);
    if (!isObject(message)) return;
    const params = isObject(message['params']) ? message['params'] : {};
    asked.push(params);
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: message['id'], ...answer(params) })}\n`);
  });
  const client = new LineClient({ input, output, asked: () => Promise.resolve({}), heard: () => undefined });
  return { target: { client, introduction: { capabilities: { tools: {} } } } as unknown as Opened, asked };
}

const request = { signal: new AbortController().signal };
const invalid = { error: { code: -32_602, message: 'no such cursor', data: { reason: 'cursor.invalid' } } };

it('a list that changes while its pages are read is read from the beginning', async () => {
  let isChanged = false;
  const { target } = opened(({ cursor }) => {
    if (cursor === 'old') {
      isChanged = true;
      return invalid;
    }
    if (cursor === 'new') return { result: { tools: [{ name: 'c' }] } };
    return { result: { tools: [{ name: isChanged ? 'b' : 'a' }], nextCursor: isChanged ? 'new' : 'old' } };
  });
  expect((await all(target, 'tools', request)).map(({ name }) => name)).toEqual(['b', 'c']);
});

it('a list that never stops changing ends the command, with the reason', async () => {
  const { target, asked } = opened(({ cursor }) =>
    cursor === undefined ? { result: { tools: [], nextCursor: 'old' } } : invalid,
  );
  await expect(all(target, 'tools', request)).rejects.toThrow('no such cursor');
  expect(asked.length).toBe(12);
});

it('the first page of a list waits for servers that have not said yet what they offer', async () => {
  const { target, asked } = opened(({ cursor }) => ({
    result: { tools: [], ...(cursor === undefined ? { nextCursor: 'next' } : {}) },
  }));
  await all(target, 'tools', request);
  expect(asked).toEqual([{ _meta: { 'dev.omnibus/timeoutMs': 15_000 } }, { cursor: 'next' }]);
});
