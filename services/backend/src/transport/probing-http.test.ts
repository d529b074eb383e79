/** Servers of which only the address is known. */
import { expect, it } from 'vitest';
import { AdapterUnderTest } from '../adapter-under-test.ts';

/** A server without POST, like one of 2024-11-05. @param stream the answer to a GET; undefined: 404. */
function olderServer(stream: string | undefined): Promise<AdapterUnderTest> {
  return AdapterUnderTest.start({
    first(request, response) {
      request.resume();
      if (request.method === 'POST') response.writeHead(405).end();
      else if (stream === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream);
      return true;
    },
  });
}

it('a stream of HTTP+SSE that names an address of another origin is reported as that, and not by the refusal of the newer transport', async () => {
  await using it = await olderServer('event: endpoint\ndata: https://elsewhere.example/messages?session=1\n\n');
  await it.adapter.firstAttempt;
  expect(it.record.problem).toContain(
    'the server named an address of another origin to post to: https://elsewhere.example/messages',
  );
});

it('a server that speaks neither transport is reported by its first refusal', async () => {
  await using it = await olderServer(undefined);
  await it.adapter.firstAttempt;
  expect(it.record.problem).toContain('405');
});
