/** Changes of a server's lists without an announcement, or with a lost one. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { latestModernRevision, legacyRevisions } from '@omnibus/protocol';
import { AdapterUnderTest, toolNamed } from '../adapter-under-test.ts';

const announcing = { tools: { listChanged: true } };

function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  return response;
}

it('what a server announced while its stream was cut is found when the stream stands again', async () => {
  const streams: ServerResponse[] = [];
  let tools = [toolNamed('act')];
  await using it = await AdapterUnderTest.start({
    capabilities: announcing,
    get: (response) => void streams.push(stream(response)),
    says: ({ method }) => (method === 'tools/list' ? { result: { tools } } : undefined),
  });
  await it.adapter.firstAttempt;
  await it.gets.until(1);
  expect(it.count('tools/list')).toBe(1);
  tools = [...tools, toolNamed('late')];
  streams[0]?.end();
  await expect.poll(() => it.tools).toEqual(['act', 'late']);
});

it('what a server announced before its stream could be opened is found when it can', async () => {
  let tools = [toolNamed('act')];
  let isOpen = false;
  await using it = await AdapterUnderTest.start({
    capabilities: announcing,
    get: (response) => void (isOpen ? stream(response) : response.writeHead(503).end()),
    says: ({ method }) => (method === 'tools/list' ? { result: { tools } } : undefined),
  });
  await it.adapter.firstAttempt;
  await it.gets.until(1);
  tools = [...tools, toolNamed('late')];
  isOpen = true;
  await expect.poll(() => it.tools).toEqual(['act', 'late']);
});

it('over HTTP+SSE, what was announced while the one stream was gone is found over the next', async () => {
  const streams: ServerResponse[] = [];
  let tools = [toolNamed('act')];
  await using it = await AdapterUnderTest.start(
    {
      get: (response) => {
        streams.push(stream(response));
        response.write('event: endpoint\ndata: /messages\n\n');
      },
      says: ({ id, method }, response) => {
        const result =
          method === 'initialize'
            ? {
                protocolVersion: legacyRevisions.at(-1),
                capabilities: announcing,
                serverInfo: { name: 'old', version: '1' },
              }
            : { tools };
        response.writeHead(202).end();
        if (id !== undefined)
          streams.at(-1)?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
        return 'silence';
      },
    },
    { type: 'sse' },
  );
  await it.adapter.firstAttempt;
  expect(it.tools).toEqual(['act']);
  tools = [...tools, toolNamed('late')];
  streams[0]?.end();
  await expect.poll(() => it.tools).toEqual(['act', 'late']);
});

it('a stream that ends as soon as it stands makes no storm of lists', async () => {
  await using it = await AdapterUnderTest.start({
    capabilities: announcing,
    get: (response) => void stream(response).end('retry: 10\n\n'),
  });
  await it.adapter.firstAttempt;
  await it.gets.until(6);
  expect(it.count('tools/list')).toBeLessThan(5);
});

it('what a server of the newest revision announced while its subscription was cut is found', async () => {
  const listens: ServerResponse[] = [];
  let tools = [toolNamed('act')];
  await using it = await AdapterUnderTest.start({
    says: ({ id, method }, response) => {
      if (method === 'server/discover')
        return {
          result: { resultType: 'complete', supportedVersions: [latestModernRevision], capabilities: announcing },
        };
      if (method === 'tools/list') return { result: { resultType: 'complete', tools } };
      if (method !== 'subscriptions/listen') return undefined;
      stream(response).write(
        `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications: { toolsListChanged: true }, _meta: { 'io.modelcontextprotocol/subscriptionId': id } } })}\n\n`,
      );
      listens.push(response);
      return 'silence';
    },
  });
  await it.adapter.firstAttempt;
  await it.heard.untilSome(({ method }) => method === 'subscriptions/listen');
  tools = [...tools, toolNamed('late')];
  await expect.poll(() => listens.length).toBe(1);
  listens[0]?.destroy();
  await expect.poll(() => it.tools).toEqual(['act', 'late']);
});

it('a server that announces nothing is read now and then while somebody uses it, and a list that reads the same is not written again', async () => {
  let tools = [toolNamed('act')];
  await using it = await AdapterUnderTest.start(
    { says: ({ method }) => (method === 'tools/list' ? { result: { tools } } : undefined) },
    { rereadLists: '100ms' },
  );
  await it.adapter.firstAttempt;
  const written = it.records.values.length;
  it.wheel.schedule(400, () => it.control({ kind: 'wanted' }));
  await it.heard.untilSome(({ method }) => method === 'tools/list');
  await expect.poll(() => it.count('tools/list')).toBeGreaterThan(3);
  expect(it.records.values.length).toBe(written);
  tools = [toolNamed('new')];
  await expect.poll(() => it.tools).toEqual(['new']);
  expect(it.records.values.length).toBe(written + 1);
});

it('a server that nobody uses is not read again', async () => {
  await using it = await AdapterUnderTest.start({}, { rereadLists: '50ms' });
  await it.adapter.firstAttempt;
  const over = Promise.withResolvers<void>();
  it.wheel.schedule(500, over.resolve);
  await over.promise;
  expect(it.count('tools/list')).toBe(1);
});
