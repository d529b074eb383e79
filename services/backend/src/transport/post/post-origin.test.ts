/** How POSTs get a connection, and what becomes of those that get none. */
import { once } from 'node:events';
import { createServer, Socket, type AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { buildConnector } from 'undici';
import { expect, it } from 'vitest';
import { PostAgent } from './post-agent.ts';
import { Post, PostConnection } from './post-connection.ts';
import { PostOrigin } from './post-origin.ts';

const origin = 'http://127.0.0.1:9';

/** @returns the messages of the POSTs that failed, in order; filled as they fail. */
function sendThrough(connect: buildConnector.connector, posts: number): { agent: PostAgent; failed: string[] } {
  const failed: string[] = [];
  const agent = new PostAgent({ connect });
  for (let sent = 0; sent < posts; sent += 1)
    agent.dispatch(
      { origin, method: 'POST', path: '/', headers: {}, body: '{}' },
      { onRequestStart: () => undefined, onResponseError: (_controller, { message }) => void failed.push(message) },
    );
  return { agent, failed };
}

it('a POST waits one turn for a connection that may be free soon, and then opens its own', async () => {
  let opened = 0;
  const posts = new PostOrigin(
    new URL(origin),
    () => void (opened += 1),
    () => undefined,
  );
  const freeClosed = (): void => {
    const connection = new PostConnection(new Socket(), posts);
    connection.close();
    posts.free(connection);
  };
  freeClosed();
  posts.send(new Post({}, ''));
  await turn();
  expect(opened).toBe(0);
  freeClosed();
  await turn();
  expect(opened).toBe(1);
});

it('a POST whose connection is being opened fails when the agent ends', async () => {
  const { agent, failed } = sendThrough(() => undefined, 1);
  await turn();
  await agent.end();
  expect(failed).toEqual(['The client is destroyed']);
});

it('a POST that is sent while the agent ends fails', async () => {
  const failed: string[] = [];
  const agent = new PostAgent({ connect: () => undefined });
  const send = (): void =>
    void agent.dispatch(
      { origin, method: 'POST', path: '/', headers: {}, body: '{}' },
      {
        onRequestStart: () => undefined,
        onResponseError: (_controller, { message }) => {
          failed.push(message);
          if (failed.length === 1) send();
        },
      },
    );
  send();
  await agent.end();
  expect(failed).toEqual(['The client is destroyed', 'The client is destroyed']);
});

it('an origin is known while one of its POSTs waits, though another could not be sent', async () => {
  let asked = 0;
  const { agent, failed } = sendThrough((_target, callback) => {
    asked += 1;
    if (asked === 1) callback(new Error('refused'), null);
  }, 2);
  await turn();
  expect(failed).toEqual(['refused']);
  await agent.end();
  expect(failed).toEqual(['refused', 'The client is destroyed']);
});

it('an origin without a connection is forgotten, and can be used again', async () => {
  const server = createServer((socket) => {
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connector = buildConnector({});
  const targets: buildConnector.Options[] = [];
  const closed: Promise<unknown>[] = [];
  const agent = new PostAgent({
    connect: (target, callback) => {
      targets.push(target);
      connector(target, (...result) => {
        if (result[1] !== null) closed.push(once(result[1], 'close'));
        callback(...result);
      });
    },
  });
  for (let sent = 0; sent < 2; sent += 1) {
    await new Promise<void>((resolve, reject) => {
      agent.dispatch(
        { origin: url, method: 'POST', path: '/', headers: {}, body: '{}' },
        {
          onRequestStart: () => undefined,
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
    await closed[sent];
  }
  expect(targets).toHaveLength(2);
  expect(targets[0]).toEqual(targets[1]);
  // Each origin has a target of its own.
  expect(targets[0]).not.toBe(targets[1]);
  await agent.end();
  server.close();
});
