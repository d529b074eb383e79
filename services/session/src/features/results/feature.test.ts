/** Results over their bound: previews, and reads of the whole, with a server that a test writes into the catalogue. */
import { afterEach, describe, expect, it } from 'vitest';
import { resultBuckets } from '@omnibus/bus';
import { resultReader } from '@omnibus/catalog';
import {
  latestLegacyRevision,
  latestModernRevision,
  legacyRevisions,
  modernRevisions,
  noLists,
  parseJson,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const revisions: readonly Revision[] = [...legacyRevisions, ...modernRevisions];
const outputSchema = { type: 'object', properties: { rows: { type: 'array' } }, required: ['rows'] };
const tools = [
  { name: 'read', inputSchema: { type: 'object' }, outputSchema },
  { name: 'find', inputSchema: { type: 'object' } },
];
const results = { maxTokens: 1_000 };

async function started(settings: object = { results }, servers = ['docs']): Promise<WorkerUnderTest> {
  up = await WorkerUnderTest.start(servers, settings);
  for (const server of servers)
    await up.put(server, { revision: latestLegacyRevision, lists: { ...noLists, tools }, capabilities: { tools: {} } });
  return up;
}

type Block = JsonObject & { readonly text?: string };

const blocksOf = ({ result }: { readonly result?: JsonObject }): readonly Block[] =>
  (result?.['content'] ?? []) as readonly Block[];

/** Calls a tool of which the server answers this. */
async function call(client: ClientUnderTest, result: JsonObject, name = 'read'): Promise<JsonObject> {
  (up as WorkerUnderTest).outcome = { kind: 'result', result };
  const answer = await client.ask('tools/call', { name, arguments: {} });
  return answer.result ?? answer.error ?? {};
}

function linkIn(result: JsonObject): string {
  return /omnibus:\/\/result\/[\w-]+/.exec(JSON.stringify(result))?.[0] ?? '';
}

const tokensIn = (result: JsonObject): number =>
  JSON.stringify({ content: result['content'], structuredContent: result['structuredContent'] }).length / 4;

/** One megabyte of lines with characters of one to four bytes, and half a surrogate pair. */
const megabyte = ((): string => {
  let text = 'half \uD800 pair\n';
  for (let line = 0; text.length < 900_000; line += 1) text += `line ${line}: "é € 😀" ${'x'.repeat(line % 90)}\n`;
  return text;
})();

async function readAll(
  read: (first: number) => Promise<{ readonly text: string; readonly next: number | undefined }>,
): Promise<string> {
  let text = '';
  for (let first: number | undefined = 0; first !== undefined;) {
    const { text: more, next } = await read(first);
    text += more;
    first = next;
  }
  return text;
}

const nextIn = (about: unknown): number | undefined => {
  const found = /next: bytes (\d+)-/.exec(String(about))?.[1];
  return found === undefined ? undefined : Number(found);
};

describe('arguments of reads that are no texts', () => {
  it.each([
    ['an object with a toString of its own', { toString: 1 }],
    ['a number beyond a double', { big: '123456789012345678901234567890' }],
    ['a list', [1]],
  ])('%s is named as a mistake, and the next read is answered', async (_name, bytes) => {
    const client = await (await started()).open(latestModernRevision);
    const uri = linkIn(await call(client, { content: [{ type: 'text', text: megabyte }] }));
    const given = 'big' in bytes ? parseJson(bytes.big) : bytes;
    const wrong = await client.ask('tools/call', { name: resultReader.name, arguments: { uri, bytes: given } });
    expect(wrong.result?.['isError']).toBe(true);
    expect(blocksOf(wrong)[0]?.text).toMatch(/bytes"? must be a (text or a number|range)/);
    const right = await client.ask('tools/call', { name: resultReader.name, arguments: { uri, bytes: 5 } });
    expect(blocksOf(right)[1]?.text).toContain('bytes 5-');
  });
});

describe.each(revisions)('a client of %s', (revision) => {
  it('pays at most 1,000 tokens for a megabyte, and reads it exactly in ranges', async () => {
    const client = await (await started()).open(revision);
    const preview = await call(client, { content: [{ type: 'text', text: megabyte }] });
    expect(tokensIn(preview)).toBeLessThanOrEqual(1_000);
    const uri = linkIn(preview);
    const byRange = await readAll(async (first) => {
      const { result } = await client.ask('resources/read', { uri: `${uri}?bytes=${first}-${first + 99_999}` });
      const [content] = (result?.['contents'] ?? []) as readonly JsonObject[];
      return { text: String(content?.['text']), next: nextIn((content?.['_meta'] as JsonObject)['dev.omnibus/range']) };
    });
    expect(byRange === megabyte).toBe(true);
    const { result: whole } = await client.ask('resources/read', { uri });
    expect((whole?.['contents'] as readonly JsonObject[])[0]?.['text'] === megabyte).toBe(true);
  });

  it('reads the whole with the tool in steps within the bound', async () => {
    const client = await (await started()).open(revision);
    const text = megabyte.slice(0, 60_000);
    const uri = linkIn(await call(client, { content: [{ type: 'text', text }] }));
    const read = await readAll(async (first) => {
      const answer = await client.ask('tools/call', {
        name: resultReader.name,
        arguments: { uri, bytes: `${first}-` },
      });
      expect(tokensIn(answer.result ?? {})).toBeLessThanOrEqual(1_000);
      const [part, about] = blocksOf(answer);
      return { text: part?.text ?? '', next: nextIn(about?.text) };
    });
    expect(read === text).toBe(true);
  });

  it('gets a result within the bound as it is, and finds the reader in its list', async () => {
    const worker = await started();
    const client = await worker.open(revision);
    const { result } = await client.ask('tools/list');
    const listed = result?.['tools'] as readonly JsonObject[];
    expect(listed.map(({ name }) => name)).toEqual(['read_result', 'read', 'find']);
    expect(listed.every((tool) => !('outputSchema' in tool))).toBe(true);
    expect(await call(client, { content: [{ type: 'text', text: 'short' }] })).toMatchObject({
      content: [{ type: 'text', text: 'short' }],
    });
    expect(JSON.stringify(client.greeting)).toContain('"resources"');
  });

  it('gets no structured content that is shortened: it is left out, or whole with `structured: whole`', async () => {
    const rows = Array.from({ length: 2_000 }, (_none, id) => ({ id, name: `name ${id}`, at: 1.5 }));
    const structured = { rows };
    const given = { content: [{ type: 'text', text: JSON.stringify(structured) }], structuredContent: structured };
    const worker = await started();
    const client = await worker.open(revision);
    const omitted = await call(client, given);
    expect(omitted['structuredContent']).toBeUndefined();
    const [preview] = omitted['content'] as readonly Block[];
    expect(preview?.text).toContain(
      'table /rows of 2,000 rows; columns: id number, name string, at number; first rows:',
    );
    expect(preview?.text).toContain('[0,"name 0",1.5]\n[1,"name 1",1.5]');
    await worker.apply(['docs'], { results: { ...results, structured: 'whole' } });
    const other = await worker.open(revision);
    const whole = await call(other, given);
    expect(tokensIn({ content: whole['content'] })).toBeLessThanOrEqual(1_000);
    if (revision >= '2025-06-18') expect(whole['structuredContent']).toEqual(structured);
    const { result } = await other.ask('tools/list');
    if (revision >= '2025-06-18') expect(JSON.stringify(result)).toContain('outputSchema');
  });

  it('gets the result of a call through call_tool bounded too, and reads it through the same tool', async () => {
    const worker = await started({ results, listing: 'search' });
    const client = await worker.open(revision);
    const { result: list } = await client.ask('tools/list');
    expect(JSON.stringify(list).length / 4).toBeLessThan(450);
    const text = 'x'.repeat(100_000);
    worker.outcome = { kind: 'result', result: { content: [{ type: 'text', text }] } };
    const { result: preview = {} } = await client.ask('tools/call', {
      name: 'call_tool',
      arguments: { name: 'read', arguments: {} },
    });
    expect(tokensIn(preview)).toBeLessThanOrEqual(1_000);
    const read = await client.ask('tools/call', {
      name: 'call_tool',
      arguments: { name: 'read_result', arguments: { uri: linkIn(preview), bytes: '99990-' } },
    });
    expect(blocksOf(read)[0]?.text).toBe('x'.repeat(10));
  });

  it('is answered alike for a result of another caller, one that never was, and one whose server it may not use any more', async () => {
    const worker = await started({ results }, ['docs', 'mail']);
    const [owner, other] = [
      await worker.open(revision, {}, callerOf('ann')),
      await worker.open(revision, {}, callerOf('bob')),
    ];
    const uri = linkIn(await call(owner, { content: [{ type: 'text', text: megabyte }] }, 'docs__read'));
    expect((await owner.ask('resources/read', { uri: `${uri}?lines=1` })).result).toBeDefined();
    const asked = async (client: ClientUnderTest, given: string): Promise<unknown> => [
      (await client.ask('resources/read', { uri: given })).error,
      (await client.ask('tools/call', { name: 'read_result', arguments: { uri: given } })).result,
    ];
    const unknown = await asked(other, `${uri.slice(0, -3)}abc`);
    expect(JSON.stringify(unknown)).toContain('there is no such stored result');
    expect(await asked(other, uri)).toEqual(unknown);
    await worker.apply(['mail'], { results });
    expect(JSON.stringify(await asked(owner, uri))).toContain('no such stored result');
  });
});

it('an anonymous caller reads within its session only, and the result goes with the session', async () => {
  const worker = await started();
  const [one, two] = [await worker.open(latestLegacyRevision), await worker.open(latestLegacyRevision)];
  const uri = linkIn(await call(one, { content: [{ type: 'text', text: megabyte }] }));
  const reads = async (client: ClientUnderTest): Promise<boolean> =>
    (await client.ask('resources/read', { uri: `${uri}?bytes=0-9` })).result !== undefined;
  expect([await reads(one), await reads(two)]).toEqual([true, false]);
  const left = await worker.bus.keyValue(resultBuckets.results);
  const gone = new Promise<void>((resolve) => {
    void left.watch((change) => {
      if (change.kind === 'delete') resolve();
    });
  });
  one.end();
  await worker.turning(gone);
});

it('a store that fails costs no call its answer, and says so', async () => {
  const worker = await started();
  const client = await worker.open(latestModernRevision);
  worker.bus.keyValue = () => Promise.reject(new Error('no store'));
  const preview = await call(client, { content: [{ type: 'text', text: megabyte }] });
  expect(JSON.stringify(preview)).toContain('the rest was not stored');
  expect(tokensIn(preview)).toBeLessThanOrEqual(1_000);
});

it('searches a text, reads lines and JSON by its pointer, and names places and ends', async () => {
  const client = await (await started()).open(latestModernRevision);
  const uri = linkIn(await call(client, { content: [{ type: 'text', text: megabyte }] }));
  const read = async (uriRead: string, args: JsonObject): Promise<readonly (string | undefined)[]> =>
    blocksOf(await client.ask('tools/call', { name: 'read_result', arguments: { uri: uriRead, ...args } })).map(
      ({ text }) => text,
    );
  const [found, places] = await read(uri, { search: 'LINE 77:' });
  expect(found).toMatch(/^line 79, byte \d+: line 77: "é € 😀"/);
  expect(places).toBe('[1 places with "LINE 77:"]');
  expect((await read(uri, { lines: '2-3' }))[0]).toBe('line 0: "é € 😀" \nline 1: "é € 😀" x\n');
  const items = JSON.stringify({ items: Array.from({ length: 900 }, (_none, id) => ({ id, big: 'b' })) });
  const json = linkIn(await call(client, { content: [{ type: 'text', text: items }] }));
  expect((await read(json, { path: '/items/899' }))[0]).toBe('{"id":899,"big":"b"}');
  expect((await read(json, { path: '/nothing' }))[0]).toContain(
    'there is no value at "/nothing"; the root has "items"',
  );
});

it('bounds of a tool and of a client replace and lower that of the endpoint', async () => {
  const worker = await started({
    results: { ...results, tools: { 'docs/read': 'off', 'docs/f*': 400 }, clients: { 'te*': 300 } },
  });
  const client = await worker.open(latestLegacyRevision);
  const text = { content: [{ type: 'text', text: 'y'.repeat(8_000) }] };
  expect(tokensIn(await call(client, text))).toBeLessThanOrEqual(300);
  expect(tokensIn(await call(client, text, 'find'))).toBeLessThanOrEqual(300);
  await worker.apply(['docs'], { results: { ...results, tools: { 'docs/read': 'off', 'docs/f*': 400 } } });
  expect(await call(client, text)).toMatchObject(text);
  const found = tokensIn(await call(client, text, 'find'));
  expect(found).toBeLessThanOrEqual(400);
  expect(found).toBeGreaterThan(300);
  await worker.apply(['docs'], { profiles: { other: { results } } });
  expect(await call(client, text, 'find')).toMatchObject(text);
});

it('the oldest results of a caller make room for new ones, and one that is larger than all room is not stored', async () => {
  const worker = await started({ results: { ...results, maxResults: 2, maxBytes: 30_000 } });
  const client = await worker.open(latestModernRevision, {}, callerOf('ann'));
  const uris: string[] = [];
  for (const letter of ['a', 'b', 'c'])
    uris.push(linkIn(await call(client, { content: [{ type: 'text', text: letter.repeat(9_000) }] })));
  const reads = await Promise.all(
    uris.map(async (uri) => (await client.ask('resources/read', { uri: `${uri}?bytes=0-0` })).result !== undefined),
  );
  expect(reads).toEqual([false, true, true]);
  const large = await call(client, { content: [{ type: 'text', text: 'd'.repeat(30_001) }] });
  expect(linkIn(large)).toBe('');
  expect(JSON.stringify(large)).toContain('it has 30001 bytes, and results.maxBytes allows 30000; ask for less');
  expect(tokensIn(large)).toBeLessThanOrEqual(1_000);
});

it('reads count for the bytes that a caller may get in a day, and none is answered after those are used up', async () => {
  const worker = await started({ results, limits: { rules: [{ id: 'volume', bytes: '2MB/day', quota: '1/day' }] } });
  const client = await worker.open(latestModernRevision, {}, callerOf('ann'));
  const uri = linkIn(await call(client, { content: [{ type: 'text', text: megabyte }] }));
  const read = async (): Promise<JsonObject> => await client.ask('resources/read', { uri });
  for (const _time of [1, 2, 3]) expect((await read())['error']).toBeUndefined();
  expect((await read())['error']).toMatchObject({ data: { reason: 'limit.quota', limit: 'volume' } });
  // By the tool too, and the words say why.
  const byTool = await client.ask('tools/call', { name: 'read_result', arguments: { uri, bytes: '0-9' } });
  expect(byTool.error?.message).toContain('used up by the results of calls');
});

it('a range that is none is answered with what to give', async () => {
  const client = await (await started()).open(latestLegacyRevision);
  const uri = linkIn(await call(client, { content: [{ type: 'text', text: megabyte }] }));
  const refused = async (query: string): Promise<unknown> =>
    (await client.ask('resources/read', { uri: `${uri}?${query}` })).error?.message;
  expect(await refused('bytes=9-1')).toContain('bytes must be a range from 0 on');
  expect(await refused('lines=0-1')).toContain('lines must be a range from 1 on');
  expect(await refused('bytes=1-2&lines=1')).toContain('give only one of bytes and lines');
  expect(await refused('page=2')).toContain('"page" is none of');
  expect(await refused('part=2')).toContain('there is no part 2');
  expect(await refused('path=/a')).toContain('this part is no JSON');
  expect(await refused('bytes=99999999-')).toContain('it has ');
});

it('redaction comes before storing', async () => {
  const worker = await started({
    results,
    auth: { keys: { file: 'keys.yaml' } },
    access: {
      rules: [
        { id: 'all', who: 'everyone', allow: ['*'] },
        { id: 'no-mail', who: 'everyone', redact: ['docs'], patterns: ['email'] },
      ],
    },
  });
  const client = await worker.open(latestModernRevision, {}, callerOf('ann'));
  const uri = linkIn(await call(client, { content: [{ type: 'text', text: `eve@x.example ${megabyte}` }] }));
  const { result } = await client.ask('resources/read', { uri: `${uri}?bytes=0-99` });
  expect(JSON.stringify(result)).not.toContain('eve@x');
  expect(JSON.stringify(result)).toContain('half ');
});

it('a read with the tool has the bound of the client too, and a bug while a result is cut costs no client its result', async () => {
  const worker = await started({ results: { ...results, clients: { 'te*': 300 } } });
  const client = await worker.open(latestLegacyRevision);
  const text = 'z'.repeat(9_000);
  const uri = linkIn(await call(client, { content: [{ type: 'text', text }] }));
  const { result = {} } = await client.ask('tools/call', { name: 'read_result', arguments: { uri } });
  expect(tokensIn(result)).toBeLessThanOrEqual(300);
  worker.metrics.results.savedTokens.inc = () => {
    throw new Error('a bug');
  };
  expect(await call(client, { content: [{ type: 'text', text }] })).toMatchObject({
    content: [{ type: 'text', text }],
  });
});

it('a script of `listing: code` gets results whole', async () => {
  const worker = await started({ results, listing: 'code' });
  const client = await worker.open(latestModernRevision);
  worker.outcome = { kind: 'result', result: { content: [{ type: 'text', text: 'q'.repeat(50_000) }] } };
  const code = 'const text = await servers.docs.find({}); console.log(String(text).length);';
  const answer = await client.ask('tools/call', { name: 'run_code', arguments: { code } });
  expect(blocksOf(answer)[0]?.text).toContain('50000');
});
