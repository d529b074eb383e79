/** The edge disconnects a client that does not read after a while, over any transport; a client that has read everything stays. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import type { StreamId } from '@omnibus/protocol';
import { EventWriter } from '../http/event-writer.ts';
import { Unread } from './unread.ts';

const stallMs = 300;
const much = 'x'.repeat(16 * 1024 * 1024);

let server: Server;
let unread: Unread;
let cutOff: number;
let wheel: DeadlineWheel;
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let client: Socket;

const address = (): string => 'somebody';
const open = new Set<EventWriter>();

beforeEach(async () => {
  cutOff = 0;
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  unread = new Unread({
    maxShare: 1e9,
    maxTotal: 1e9,
    stallMs,
    metrics: { slowReaders: { inc: () => (cutOff += 1) } as never },
  });
  server = createServer((request, response) => serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  client.destroy();
  server.closeAllConnections();
  await server[Symbol.asyncDispose]();
});

/** Asks, and reads nothing. */
async function ask(headers = ''): Promise<Socket> {
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  await once(client, 'connect');
  client.pause();
  client.write(`GET / HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`);
  return client;
}

const writerOf = (response: ServerResponse): EventWriter =>
  new EventWriter(
    { response, address },
    { id: 'stream' as StreamId, isPrimed: false },
    { wheel, maxBufferedBytes: 1e9, unread, open },
  );

describe('a client that takes nothing is cut off and counted once', () => {
  it.each<readonly [string, (response: ServerResponse) => () => void]>([
    [
      'of an event stream',
      (response) => {
        const writer = writerOf(response);
        writer.message(much, 1);
        return () => undefined;
      },
    ],
    [
      'of an event stream on which more is said all the time',
      (response) => {
        const writer = writerOf(response);
        writer.message(much, 1);
        const saying = setInterval(() => writer.message('more', 2), stallMs / 10);
        return () => clearInterval(saying);
      },
    ],
    [
      'of an answer in JSON',
      (response) => {
        response.end(much);
        unread.wrote(response, { address });
        return () => undefined;
      },
    ],
  ])('%s', async (_what, write) => {
    let closed: Promise<unknown> | undefined;
    let stop = (): void => undefined;
    serve = (_request, response) => {
      closed = once(response, 'close');
      stop = write(response);
    };
    await ask();
    await expect.poll(() => cutOff).toBe(1);
    await closed;
    stop();
    expect([unread.bytes, cutOff]).toEqual([0, 1]);
  });

  it('of a connection that is no HTTP any more', async () => {
    const closed = new Promise((resolve) => {
      server.on('upgrade', (_request, socket: Socket) => {
        socket.on('error', () => undefined);
        socket.once('close', resolve);
        socket.write(much);
        unread.wrote(socket, { address });
      });
    });
    await ask('connection: upgrade\r\nupgrade: websocket\r\n');
    await closed;
    expect([unread.bytes, cutOff]).toEqual([0, 1]);
  });
});

it('a connection on which everything was taken has no limit any more, however silent it is then', async () => {
  let response: ServerResponse | undefined;
  serve = (_request, given) => {
    response = given;
    writerOf(given).message(much, 1);
  };
  const socket = await ask();
  socket.resume();
  await expect.poll(() => [response?.writableLength, unread.bytes]).toEqual([0, 0]);
  expect([response?.socket?.timeout, cutOff]).toEqual([0, 0]);
});
