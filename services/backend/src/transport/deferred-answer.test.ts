/** Servers that accept a request with HTTP 202, as a notification, or with an empty stream, and answer it on the standing stream, whatever its type. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { newRequestKey, type JsonObject, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type HeardByServer } from '../adapter-under-test.ts';

const session = newRequestKey() as string as SessionKey;
const act = { name: 'act', arguments: {} };
const results: Readonly<Record<string, JsonObject>> = {
  'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

interface Way {
  readonly accepts?: 'an empty stream';
  /** The Content-Type of the standing stream. */
  readonly type?: string;
}

/** A server that writes its answers to the stream, once the request for it has come. */
class Deferring {
  readonly #written: string[] = [];
  stream: ServerResponse | undefined;
  /** Whether it answers calls. */
  isWilling = true;
  readonly #way: Way;

  constructor(way: Way = {}) {
    this.#way = way;
  }

  open(response: ServerResponse): void {
    const { type = 'text/event-stream' } = this.#way;
    this.stream = response.writeHead(200, type === 'none' ? {} : { 'content-type': type });
    this.stream.flushHeaders();
    for (const each of this.#written.splice(0)) this.stream.write(each);
  }

  says({ id, method }: HeardByServer, response: ServerResponse): undefined | 'silence' {
    const result = results[method];
    if (result === undefined) return undefined;
    if (this.#way.accepts === 'an empty stream')
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
    else response.writeHead(202).end();
    // The acceptance arrives first, nearly always.
    response.once('close', () => {
      if (method === 'tools/call' && !this.isWilling) return;
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
      if (this.stream === undefined) this.#written.push(event);
      else this.stream.write(event);
    });
    return 'silence';
  }
}

async function started(
  settings: object,
  way: Way = {},
): Promise<{ readonly it: AdapterUnderTest; readonly server: Deferring }> {
  const server = new Deferring(way);
  const it = await AdapterUnderTest.start(
    { says: (message, response) => server.says(message, response), get: (response) => server.open(response) },
    { era: 'legacy', ...settings },
  );
  await it.adapter.firstAttempt;
  return { it, server };
}

it.each<readonly [string, Way]>([
  ['HTTP 202', {}],
  ['an empty stream of events', { accepts: 'an empty stream' }],
])('after %s their lists and calls are answered, and the repair is counted', async (_accepted, way) => {
  const { it, server } = await started({}, way);
  await using _ = it;
  await it.records.untilSome(({ lists }) => lists.tools.length === 1);
  for (let count = 0; count < 3; count += 1)
    expect(await it.call(session, 'tools/call', act)).toMatchObject({
      kind: 'result',
      result: { content: [{ text: 'done' }] },
    });
  // A call is over with the stream on which its answer was to come.
  server.isWilling = false;
  const before = it.repairs.rows[0]?.count ?? 0;
  const open = it.call(session, 'tools/call', act);
  // Answers that come before their HTTP 202 are no repair.
  await expect.poll(() => it.repairs.rows).toMatchObject([{ repair: 'deferred-answer', count: before + 1 }]);
  server.stream?.end();
  expect(await open).toMatchObject({ kind: 'fault', fault: { reason: 'upstream.lost' } });
});

it('a call whose answer on the stream cannot be read ends with that', async () => {
  const { it, server } = await started({});
  await using _ = it;
  server.isWilling = false;
  const before = it.repairs.rows[0]?.count ?? 0;
  const open = it.call(session, 'tools/call', act);
  await expect.poll(() => it.repairs.rows[0]?.count).toBe(before + 1);
  const { id } = it.heard.values.find(({ method }) => method === 'tools/call') as HeardByServer;
  server.stream?.write(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[}}\n\n`);
  expect(await open).toMatchObject({ kind: 'fault', fault: { reason: 'upstream.invalid' } });
});

it.each([
  ['without such a stream', { era: 'legacy' }, undefined],
  [
    'with `validation: enforce`',
    { era: 'legacy', validation: 'enforce' },
    (response: ServerResponse) => new Deferring().open(response),
  ],
])('a call that is answered HTTP 202 %s fails at once', async (_when, settings, get) => {
  await using it = await AdapterUnderTest.start(
    {
      says: ({ method }, response) => {
        if (method !== 'tools/call') return undefined;
        response.writeHead(202).end();
        return 'silence';
      },
      ...(get === undefined ? {} : { get }),
    },
    settings,
  );
  await it.adapter.firstAttempt;
  expect(await it.call(session, 'tools/call', act)).toMatchObject({
    kind: 'fault',
    fault: { reason: 'upstream.invalid', message: expect.stringContaining('HTTP 202 without a message') as string },
  });
});

it.each(['text/plain', 'application/octet-stream', 'none'])(
  'events on a standing stream of type %s are read, and its type is counted as a repair',
  async (type) => {
    const { it, server } = await started({}, { type });
    await using _ = it;
    await it.records.untilSome(({ lists }) => lists.tools.length === 1);
    expect(await it.call(session, 'tools/call', act)).toMatchObject({ kind: 'result' });
    expect(it.repairs.rows.find(({ repair }) => repair === 'stream-type')).toMatchObject({ count: 1 });
    // The stream counts as one of events: it is opened again when it ends.
    const { stream } = server;
    stream?.end();
    await expect.poll(() => server.stream === stream).toBe(false);
  },
);
