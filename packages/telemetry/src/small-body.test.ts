import { once } from 'node:events';
import { Agent, createServer, request as send, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { maxSmallBodyBytes, readSmallBody } from './small-body.ts';

/** A server that answers the length of a body, or 413, and what became of each request. */
async function serve() {
  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    readSmallBody(request).then(
      (text) => response.writeHead(text === undefined ? 413 : 200).end(String(text?.length)),
      (error: unknown) => {
        faults.push(error);
        response.destroy();
      },
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const post = (bytes: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = send({ port, method: 'POST', agent }, (response) => {
        response.setEncoding('utf8').on('data', (text: string) => resolve(`${response.statusCode} ${text}`));
      });
      request.on('error', reject).end('x'.repeat(bytes));
    });
  return { post, faults, port };
}

it('a body is read, and one that is too long is refused; the connection serves the next request', async () => {
  const { post } = await serve();
  expect([
    await post(0),
    await post(maxSmallBodyBytes),
    await post(maxSmallBodyBytes + 1),
    await post(500_000),
    await post(3),
  ]).toEqual(['200 0', `200 ${maxSmallBodyBytes}`, '413 undefined', '413 undefined', '200 3']);
});

it('a body that comes byte by byte is read, and is not held as an object for each byte', async () => {
  const { port } = await serve();
  const concat = vi.spyOn(Buffer, 'concat');
  onTestFinished(() => concat.mockRestore());
  const post = send({ port, method: 'POST', agent: false });
  for (let byte = 0; byte < 10_000; byte += 1) post.write('x');
  const answered = once(post, 'response');
  post.end();
  const [answer] = (await answered) as [IncomingMessage];
  expect(await once(answer.setEncoding('utf8'), 'data')).toEqual(['10000']);
  expect(Math.max(...concat.mock.calls.map(([pieces]) => pieces.length))).toBeLessThan(100);
});

it('whoever sends on and on is answered, and then cut off', async () => {
  const { port } = await serve();
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.on('error', () => undefined);
  const answered = new Promise<string>((resolve) => {
    socket.setEncoding('utf8').once('data', resolve);
  });
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9000000\r\n\r\n${'x'.repeat(20_000)}`);
  expect(await answered).toMatch(/^HTTP\/1\.1 413 /);
  socket.write('x'.repeat(2_000_000));
  await closed;
});

it('a request whose client leaves before its end has no body', async () => {
  const { port, faults } = await serve();
  const socket = connect(port, '127.0.0.1', () => {
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc');
    socket.end();
  });
  await expect.poll(() => faults.length).toBe(1);
});
