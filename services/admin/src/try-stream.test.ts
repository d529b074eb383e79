import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { modernRevisions, type Revision } from '@omnibus/protocol';
import { TryRun } from './try-run.ts';
import { streamAttempt } from './try-stream.ts';

it('a reader that takes long for the result is not told meanwhile that the stream is alive, since it has ended', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const run = new TryRun({
    method: 'tools/call',
    params: { name: 'large', arguments: {} },
    revision: modernRevisions[0] as Revision,
    capabilities: {},
  });
  await run.run((write) =>
    Promise.resolve({
      receive: (message) =>
        write(
          JSON.stringify({
            jsonrpc: '2.0',
            id: (JSON.parse(message) as { readonly id: number }).id,
            result: { text: 'x'.repeat(12_000_000) },
          }),
        ),
      end: () => Promise.resolve(),
    }),
  );
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    streamAttempt(run, response, 0, () => undefined);
    resolve(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  reader.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const response = await promise;
  const failures: unknown[] = [];
  response.on('error', (error) => failures.push(error));
  expect([response.writableEnded, response.writableFinished]).toEqual([true, false]);
  vi.advanceTimersByTime(60_000);
  reader.resume();
  await once(reader, 'close');
  expect(failures).toEqual([]);
});
