/** Large results are garbage as soon as nothing needs them, and small collections find them: their bytes do not wait for a collection of the whole heap. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { JsonObject } from '../json-rpc.ts';
import { defaultLimits } from '../limits.ts';
import { countBuffersToHeap } from './buffers.ts';
import { type JsonBytes, withText, wire, type MayHaveBytes } from './marks.ts';
import { readAnswer } from './read-answer.ts';

setFlagsFromString('--expose-gc');
const collectYoung = runInNewContext('() => gc({ type: "minor" })') as () => void;
const collect = runInNewContext('gc') as () => void;

// Else so many buffers make V8 collect its whole heap.
countBuffersToHeap();

const size = 100_000;
const text = JSON.stringify({
  jsonrpc: '2.0',
  id: 5,
  result: { content: [{ type: 'text', text: 'x'.repeat(size) }], structuredContent: { text: 'y'.repeat(1_000) } },
});

function answer(): JsonObject & MayHaveBytes {
  const bytes = Buffer.allocUnsafeSlow(text.length);
  bytes.write(text);
  return readAnswer([bytes], defaultLimits)?.['result'] as JsonObject & MayHaveBytes;
}

/** The function that reads the last member of a large result, whose name the server has made up. */
function getterOf(name: string): unknown {
  const own = { content: [{ type: 'text', text: 'x'.repeat(size) }], [name]: 'y'.repeat(1_000) };
  const read = readAnswer([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 5, result: own }))], defaultLimits);
  const member = Object.getOwnPropertyDescriptor(read?.['result'], name);
  return (member as { readonly get: unknown } | undefined)?.get;
}

it('nothing is kept of the names that servers make up, and however many there were, results share their getters', () => {
  const used = (): number => {
    // V8 keeps unused shapes, with their names, for some collections.
    for (let count = 0; count < 5; count += 1) collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  getterOf('n'.repeat(1_000_000));
  const before = used();
  for (let count = 0; count < 50; count += 1) getterOf(`${count}${'n'.repeat(1_000_000)}`);
  expect(used() - before).toBeLessThan(5_000_000);
  for (let count = 0; count < 1_000; count += 1) getterOf(`junk-${count}`);
  expect(getterOf('late')).toBeTypeOf('function');
  expect(getterOf('late')).toBe(getterOf('late'));
});

it.each<[string, () => unknown]>([
  ['as it came', answer],
  [
    'with other members',
    () => {
      const result = answer();
      return result[wire]?.with(result, { resultType: 'complete' }, {});
    },
  ],
  ['as the text of a frame', () => withText({ kind: 'message' }, answer()[wire]?.bytes as JsonBytes)],
])('the bytes of a large result are free after a collection of the young generation: %s', async (_as, make) => {
  const left = async (): Promise<number> => {
    collectYoung();
    collectYoung();
    // Buffers are given back by a thread.
    await new Promise((resolve) => void setImmediate(resolve));
    collectYoung();
    return process.memoryUsage().arrayBuffers;
  };
  const pass = (count: number): void => {
    for (let made = 0; made < count; made += 1) expect(make()).toBeDefined();
  };
  pass(20);
  const before = await left();
  pass(200);
  expect((await left()) - before).toBeLessThan((200 * size) / 2);
});
