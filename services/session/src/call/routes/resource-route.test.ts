/** Reads of unlisted URIs: the asked servers, and the others. */
import { describe, expect, it } from 'vitest';
import { noLists, parseServerName, type CatalogRecord, type JsonObject, type ServerName } from '@omnibus/protocol';
import { holdTime, pass, recordOf, RequestsUnderTest } from '../../stateless/requests-under-test.ts';

const [one, two, three] = ['one', 'two', 'three'].map(parseServerName) as [ServerName, ServerName, ServerName];

/** A server with these templates and listed resources. */
function server(name: ServerName, templates: readonly string[], listed: readonly string[] = []): CatalogRecord {
  return recordOf(name, {
    lists: {
      ...noLists,
      tools: [{ name: 'act', inputSchema: { type: 'object' } }],
      resources: listed.map((uri) => ({ uri, name: uri })),
      resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
    },
  });
}

holdTime();

/** @returns the server asked for a resource, or the client's error. */
async function read(test: RequestsUnderTest, uri: string): Promise<string | JsonObject | undefined> {
  const before = test.asked.length;
  const sent = test.send('resources/read', { uri });
  await pass();
  return test.asked.length > before ? test.asked.at(-1)?.server : sent.answer();
}

/** A tool of a server answers with a link. */
async function handOut(test: RequestsUnderTest, name: ServerName, uri: string): Promise<void> {
  test.send('tools/call', { name: `${name}__act`, arguments: {} });
  await pass();
  test.asked.at(-1)?.reply({ kind: 'result', result: { content: [{ type: 'resource_link', uri, name: uri }] } });
  await pass();
}

describe('a URI that no server lists', () => {
  it('is read at the server that handed it out, not at one with a broad template', async () => {
    const test = await RequestsUnderTest.start({}, [server(one, ['mem://{+p}']), server(two, [])]);
    expect(await read(test, 'mem://of/two')).toBe('one');
    await handOut(test, two, 'mem://of/two');
    expect(await read(test, 'mem://of/two')).toBe('two');
  });

  it('is read at the server with the closest template, and a listed one at the server that lists it', async () => {
    const test = await RequestsUnderTest.start({}, [
      server(one, ['mem://{+p}']),
      server(two, ['mem://notes/{id}']),
      server(three, [], ['mem://notes/7']),
    ]);
    await handOut(test, one, 'mem://notes/7');
    expect([
      await read(test, 'mem://notes/1'),
      await read(test, 'mem://notes/7'),
      await read(test, 'mem://else'),
    ]).toEqual(['two', 'three', 'one']);
  });

  it('that two servers could have alike is read at neither, and the answer names both and says how to choose', async () => {
    const test = await RequestsUnderTest.start({}, [server(one, ['mem://{+p}']), server(two, ['mem://{+path}'])]);
    expect(await read(test, 'mem://x')).toMatchObject({
      reason: 'resource.ambiguous',
      message: expect.stringMatching(/"one", "two".*omnibus:\/\/SERVER\//) as string,
    });
    expect(await read(test, 'omnibus://two/mem://x')).toBe('two');
    await handOut(test, one, 'other://x');
    await handOut(test, two, 'other://x');
    expect(await read(test, 'other://x')).toMatchObject({ reason: 'resource.ambiguous' });
  });

  it('that no list has goes to a few servers, one after the other, and the answer of one of them goes to the client', async () => {
    const test = await RequestsUnderTest.start(
      {},
      Array.from({ length: 40 }, (_, index) => server(parseServerName(`server${index}`), [])),
    );
    const sent = test.send('resources/read', { uri: 'mem://nobody' });
    await pass();
    for (let count = 1; sent.answer() === undefined && count < 50; count += 1) {
      expect(test.asked.length).toBe(count);
      test.asked.at(-1)?.reply({ kind: 'error', error: { code: -32_002, message: 'not found' } });
      await pass();
    }
    expect([test.asked.length, sent.answer()?.['code']]).toEqual([16, -32_602]);
  });

  it('is not asked of further servers when the time of a call is over, and one that could not be asked is not said to lack it', async () => {
    const test = await RequestsUnderTest.start({}, [server(one, []), server(two, []), server(three, [])]);
    const sent = test.send('resources/read', { uri: 'mem://nobody' });
    await pass();
    await pass(30_000);
    expect([test.asked.length, sent.answer()?.['code']]).toEqual([1, -32_602]);
    expect(sent.answer()?.['message']).toMatch(/"one": .*; of "two": there was no time to ask it/);
    const again = test.send('resources/read', { uri: 'mem://nobody' });
    await pass();
    test.asked.at(-1)?.reply({ kind: 'fault', fault: { reason: 'upstream.unavailable', message: 'down' } });
    for (let count = 0; count < 2; count += 1) {
      await pass();
      test.asked.at(-1)?.reply({ kind: 'error', error: { code: -32_002, message: 'not found' } });
    }
    await pass();
    expect([test.asked.length, again.answer()?.['code']]).toEqual([4, -32_602]);
    expect(again.answer()).toMatchObject({ data: { missing: [{ server: one, problem: 'down' }], retry: 'same' } });
  });

  it('is not asked of the next server once its client has gone', async () => {
    const test = await RequestsUnderTest.start({}, [server(one, []), server(two, [])]);
    const sent = test.send('resources/read', { uri: 'mem://nobody' });
    await pass();
    test.close(sent);
    await pass();
    test.asked.at(-1)?.reply({ kind: 'error', error: { code: -32_002, message: 'not found' } });
    await pass(100);
    expect([test.asked.length, test.cancelled.length]).toEqual([1, 1]);
  });
});

describe('a URI that servers read otherwise than it is written', () => {
  it.each([
    ['mem://sec\tret', 'control character (U+0009) at position 9; write it as %09'],
    ['mem://sec\nret', 'control character (U+000A) at position 9'],
    [' mem://secret', 'blank (U+0020) at position 0; write it as %20'],
    ['mem://my secret', 'blank (U+0020) at position 8'],
    [' mem://sec\u0001ret', 'control character (U+0001) at position 10'],
  ])('is refused, with its problem: %j', async (uri, problem) => {
    const test = await RequestsUnderTest.start({}, [
      { ...server(one, ['mem://{+p}', '{+any}']), capabilities: { tools: {}, resources: {}, completions: {} } },
      server(two, []),
    ]);
    for (const [method, params] of [
      ['resources/read', { uri }],
      ['completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name: 'p', value: '' } }],
    ] as const) {
      const sent = test.send(method, params);
      await pass();
      expect(test.asked).toEqual([]);
      expect(sent.answer()).toMatchObject({
        reason: 'params.invalid',
        message: expect.stringContaining(problem) as string,
      });
    }
  });

  it('is read where a server lists it or has handed it out with a blank', async () => {
    const test = await RequestsUnderTest.start({}, [server(one, [], ['mem://my note']), server(two, [])]);
    expect(await read(test, 'mem://my note')).toBe('one');
    await handOut(test, two, 'mem://of two');
    expect(await read(test, 'mem://of two')).toBe('two');
  });
});
