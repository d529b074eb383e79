/** Servers that accept a request with HTTP 202, as a notification, and answer it on the standing stream. */
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

/** A server that writes its answers to the stream, once the request for it has come. */
class Deferring {
  readonly #written: string[] = [];
  stream: ServerResponse | undefined;
  /** Whether it answers calls. */
  isWilling = true;

  open(response: ServerResponse): void {
    this.stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.stream.flushHeaders();
    for (const each of this.#written.splice(0)) this.stream.write(each);
  }

  says({ id, method }: HeardByServer, response: ServerResponse): undefined | 'silence' {
    const result = results[method];
    if (result === undefined) return undefined;
    response.writeHead(202).end();
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

async function started(settings: object): Promise<{ readonly it: AdapterUnderTest; readonly server: Deferring }> {
  const server = new Deferring();
  const it = await AdapterUnderTest.start(
    { says: (message, response) => server.says(message, response), get: (response) => server.open(response) },
    { era: 'legacy', ...settings },
  );
  await it.adapter.firstAttempt;
  return { it, server };
}

it('their lists and calls are answered, and the repair is counted', async () => {
  const { it, server } = await started({});
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
