import { describe, expect, it } from 'vitest';
import { defaultLimits, type ExchangeOutcome, type JsonObject, type Limits } from '@omnibus/protocol';
import { OutputSchemas } from './output-schemas.ts';
import { readList } from './reader.ts';

const limits: Limits = defaultLimits;
const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, inputSchema: { type: 'object' }, ...more });

/** Serves pages; asked beyond the last, it fails the test. */
const pages = (...served: JsonObject[]) => {
  let asked = 0;
  return {
    asked: () => asked,
    ask: (): Promise<ExchangeOutcome> => {
      asked += 1;
      return Promise.resolve({ kind: 'result', result: served[asked - 1] as JsonObject });
    },
  };
};

async function read(
  ask: (method: string, params: JsonObject) => Promise<ExchangeOutcome>,
  changed: Partial<Limits> = {},
) {
  const reading = await readList('tools', ask, {
    limits: { ...limits, ...changed },
    repairs: undefined,
    outputSchemas: new OutputSchemas(),
  });
  if ('failed' in reading) throw new Error(reading.failed);
  return reading;
}

describe('reading a list of a server', () => {
  it('survives a page of 200,000 entries, keeps the permitted number and reports how many were left out', async () => {
    const { ask } = pages({ tools: Array.from({ length: 200_000 }, (_, index) => tool(`t${index}`)) });
    const { entries, leftOut, problems } = await read(ask);
    expect([entries.length, leftOut]).toEqual([50_000, 150_000]);
    expect(problems[0]?.problem).toContain('limits.maxCatalogEntries');
  });

  it('stops at a cursor that came before, and at pages without end', async () => {
    let count = 0;
    const endless = (): Promise<ExchangeOutcome> => {
      count += 1;
      return Promise.resolve({ kind: 'result', result: { tools: [tool(`t${count}`)], nextCursor: `c${count}` } });
    };
    expect((await read(endless, { maxCatalogPages: 7 })).entries).toHaveLength(7);
    expect(count).toBe(7);
    const repeating = pages({ tools: [tool('a')], nextCursor: 'x' }, { tools: [tool('b')], nextCursor: 'x' });
    const { entries, problems } = await read(repeating.ask);
    expect(entries.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(problems[0]?.problem).toContain('repeats its cursor');
  });

  it('ends pages without entries too, and does not ask on when the bytes of the list are used up', async () => {
    const large = pages({
      tools: [tool('a', { description: 'x'.repeat(600) }), tool('b', { description: 'x'.repeat(600) })],
      nextCursor: 'next',
    });
    const { entries, leftOut, problems } = await read(large.ask, { maxCatalogBytes: 1_000 });
    expect([entries.length, leftOut, large.asked()]).toEqual([1, 1, 1]);
    expect(problems[0]?.problem).toContain('limits.maxCatalogBytes');
  });

  it('leaves out entries that are too deep, have an endless name, come twice or are invalid, and uses the rest', async () => {
    const deep: JsonObject = {};
    let inner = deep;
    for (let depth = 0; depth < 6_000; depth += 1) {
      const next: JsonObject = {};
      Object.assign(inner, { properties: next });
      inner = next;
    }
    const { ask } = pages({
      tools: [
        tool('good'),
        tool('deep', { inputSchema: deep }),
        tool('x'.repeat(1_000_000)),
        tool('good'),
        null,
        7,
        { name: 'no schema' },
        tool('fine'),
      ],
    });
    const { entries, leftOut, problems } = await read(ask);
    expect(entries.map(({ name }) => name)).toEqual(['good', 'fine']);
    expect(leftOut).toBe(6);
    expect(problems.every(({ problem }) => problem.length <= 300)).toBe(true);
  });

  it('keeps what the server says of the list, except for words of the gateway and what ties a list to a task', async () => {
    const meta = { 'com.example/own': 1, 'omnibus.dev/missing': [], 'io.modelcontextprotocol/related-task': 'x' };
    const { notes } = await read(pages({ tools: [tool('a')], _meta: meta }).ask);
    expect(notes.meta).toEqual({ 'com.example/own': 1 });
  });
});
