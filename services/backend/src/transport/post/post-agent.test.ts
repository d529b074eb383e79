/** What servers answer to a plain POST, as it is read here and as undici reads it. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { PostAgent } from './post-agent.ts';

interface Read {
  readonly status: number | undefined;
  readonly interim: readonly number[];
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly outcome: 'ended' | 'failed';
}

/** How a request differs from a plain POST. */
interface Unusual {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const request = {
  method: 'POST',
  path: '/mcp?a=b',
  headers: { accept: 'application/json' },
  body: '{"text":"ä"}',
} as const;

function post(agent: Dispatcher, origin: string, more: object = {}): Promise<Read> {
  const interim: number[] = [];
  let status: number | undefined;
  let headers = {};
  let body = '';
  return new Promise((resolve) => {
    const done = (outcome: Read['outcome']): void =>
      resolve({ status, interim, headers: { ...headers }, body, outcome });
    agent.dispatch(
      { origin, ...request, ...more },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code, got) => {
          if (code < 200) interim.push(code);
          else {
            status = code;
            headers = got;
          }
        },
        onResponseData: (_controller, chunk) => {
          body += chunk.toString('latin1');
        },
        onResponseEnd: () => done('ended'),
        onResponseError: () => done('failed'),
      },
    );
  });
}

let server: Server;
let origin: string;
let sockets: Socket[];
/** What the server does with each request. */
let answer: (socket: Socket, text: string) => void;
let requests: string[];
let agent: PostAgent;

beforeEach(async () => {
  sockets = [];
  requests = [];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      requests.push(chunk.toString());
      answer(socket, chunk.toString());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  agent = new PostAgent({ bodyTimeout: 0, headersTimeout: 0, keepAliveTimeout: 2_000, connect: buildConnector({}) });
});

afterEach(async () => {
  await agent.end();
  for (const socket of sockets) socket.destroy();
  server.close();
});

const ok = 'HTTP/1.1 200 OK\r\n';
const responses: readonly (readonly [what: string, response: string])[] = [
  ['a length', `${ok}content-length: 5\r\nContent-Type: text/plain\r\n\r\nhello`],
  ['no body', `${ok}content-length: 0\r\n\r\n`],
  ['no reason', 'HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n'],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['304 with a length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n'],
  ['chunks', `${ok}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n`],
  ['chunks and trailers', `${ok}Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nx-a: b\r\nx-c: d\r\n\r\n`],
  ['a body until the end', `${ok}content-type: text/plain\r\n\r\nhello`],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi'],
  ['an interim response', `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}content-length: 2\r\n\r\nhi`],
  ['100 Continue', `HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 2\r\n\r\nhi`],
  ['101 Switching Protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ['repeated headers', `${ok}www-authenticate: a\r\nwww-authenticate: b\r\ncontent-length: 0\r\n\r\n`],
  ['spaces around values', `${ok}x-a: \t b c\r\nx-empty:\r\ncontent-length: 0\r\n\r\n`],
  ['bytes beyond ASCII in a value', `${ok}x-a: \u{e4}\r\ncontent-length: 0\r\n\r\n`],
  ['an error', 'HTTP/1.1 503 Service Unavailable\r\nretry-after: 3\r\ncontent-length: 4\r\n\r\nbusy'],
  ['a body that is too short', `${ok}content-length: 50\r\n\r\nhello`],
  ['a chunk that is cut off', `${ok}transfer-encoding: chunked\r\n\r\nff\r\nhello`],
  ['two lengths', `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`],
  ['a length and chunks', `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a negative length', `${ok}content-length: -5\r\n\r\nhello`],
  ['a length in words', `${ok}content-length: 5, 5\r\n\r\nhello`],
  ['a chunk without a size', `${ok}transfer-encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${ok}transfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`],
  ['a header without a colon', `${ok}hello\r\ncontent-length: 0\r\n\r\n`],
  ['a header with a space in its name', `${ok}x a: b\r\ncontent-length: 0\r\n\r\n`],
  ['a header that continues on the next line', `${ok}x-a: b\r\n c\r\ncontent-length: 0\r\n\r\n`],
  ['a zero byte', `${ok}x-a: \0\r\ncontent-length: 0\r\n\r\n`],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['a head without an end', `${ok}${'x-a: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n'.repeat(600)}`],
  ['nothing', ''],
];

describe('a response', () => {
  it.each(responses)('with %s is read as undici reads it', async (_what, response) => {
    answer = (socket) => socket.end(response, 'latin1');
    const undici = new Agent();
    const theirs = await post(undici, origin);
    await undici.destroy();
    const ours = await post(agent, origin);
    if (theirs.outcome === 'ended') expect(ours).toEqual(theirs);
    else expect(ours.outcome).toBe('failed');
  });

  it.each(responses)('with %s is the same in whatever parts it comes', async (_what, response) => {
    answer = (socket) => socket.end(response, 'latin1');
    const whole = await post(agent, origin);
    answer = (socket) => {
      const bytes = Buffer.from(response, 'latin1').subarray(0, 20_000);
      let at = 0;
      const next = (): void => {
        if (at >= bytes.length) socket.end();
        else socket.write(bytes.subarray(at, (at += bytes.length > 1_000 ? 997 : 1)), next);
      };
      next();
    };
    const parts = await post(agent, origin);
    if (whole.outcome === 'ended') expect(parts).toEqual(whole);
    else expect(parts.outcome).toBe('failed');
  });
});

it.each([
  ['head', `${ok}${'x-a: b\r\n'.repeat(3_000)}`, 'the head of its response is too long'],
  [
    'line before a chunk',
    `${ok}transfer-encoding: chunked\r\n\r\n2;${'a'.repeat(5_000)}\r\n`,
    'the line before a chunk of its response is too long',
  ],
  [
    'chunk',
    `${ok}transfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`,
    'a chunk of its response is longer than it says',
  ],
  [
    'list of trailers',
    `${ok}transfer-encoding: chunked\r\n\r\n0\r\n${'x-a: b\r\n'.repeat(3_000)}`,
    'the trailers of its response are too long',
  ],
  [
    'trailer',
    `${ok}transfer-encoding: chunked\r\n\r\n0\r\nx-a: ${'b'.repeat(20_000)}\r\n`,
    'the trailers of its response are too long',
  ],
])('a %s that is too long is named in the error', async (_what, response, problem) => {
  answer = (socket) => socket.end(response, 'latin1');
  const message = await new Promise<string>((resolve) => {
    agent.dispatch(
      { origin, ...request },
      { onRequestStart: () => undefined, onResponseError: (_controller, failure) => resolve(failure.message) },
    );
  });
  expect(message).toBe(problem);
});

describe('a request', () => {
  const small = `${ok}content-length: 2\r\n\r\nhi`;

  it('is written in one piece, with its length in bytes', async () => {
    answer = (socket) => socket.write(small);
    await post(agent, origin);
    expect(requests).toEqual([
      `POST /mcp?a=b HTTP/1.1\r\nhost: ${new URL(origin).host}\r\nconnection: keep-alive\r\naccept: application/json\r\ncontent-length: 13\r\n\r\n{"text":"ä"}`,
    ]);
  });

  it('uses the connection of the one before it', async () => {
    answer = (socket) => socket.write(small);
    for (let count = 0; count < 3; count += 1) expect((await post(agent, origin)).body).toBe('hi');
    expect(sockets).toHaveLength(1);
  });

  it.each([
    ['says that it closes it', `${ok}connection: close\r\ncontent-length: 2\r\n\r\nhi`],
    ['says that it closes it soon', `${ok}keep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nhi`],
    ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi'],
    ['sends more than it was asked', `${small}${ok}content-length: 5\r\n\r\nwrong`],
    ['sends an empty line more', `${small}\r\n`],
    ['sends the beginning of a head more', `${small}HTTP/1.1 200 OK\r\ncontent-le`],
    ['sends the beginning of a body more', `${small}${ok}content-length: 60\r\n\r\nwro`],
    ['sends the beginning of an interim response more', `${small}HTTP/1.1 103 Early Hints\r\n\r\n`],
  ])('gets a new connection after a server that %s', async (_what, response) => {
    answer = (socket) => socket.write(response);
    expect((await post(agent, origin)).body).toBe('hi');
    answer = (socket) => socket.write(small);
    expect((await post(agent, origin)).body).toBe('hi');
    expect(sockets).toHaveLength(2);
  });

  it.each([
    ['closes it soon', `${ok}keep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nhi`],
    ['closes it', `${ok}keep-alive: timeout=60\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi`],
    ['is of HTTP/1.0 now', 'HTTP/1.0 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: 2\r\n\r\nhi'],
  ])('hears a server that keeps the connection, and says later that it %s', async (_what, later) => {
    answer = (socket) => socket.write(`${ok}keep-alive: timeout=60\r\ncontent-length: 2\r\n\r\nhi`);
    for (let count = 0; count < 2; count += 1) expect((await post(agent, origin)).body).toBe('hi');
    expect(sockets).toHaveLength(1);
    answer = (socket) => socket.write(later);
    for (let count = 0; count < 2; count += 1) expect((await post(agent, origin)).body).toBe('hi');
    expect(sockets).toHaveLength(2);
  });

  it('gets no bytes that came before it', async () => {
    answer = (socket) => socket.write(small);
    await post(agent, origin);
    const closed = once(sockets[0] as Socket, 'close');
    sockets[0]?.write(`${ok}content-length: 5\r\n\r\nwrong`);
    await closed;
    expect((await post(agent, origin)).body).toBe('hi');
    expect(sockets).toHaveLength(2);
  });

  it('that is aborted closes its connection, and its handler hears that once', async () => {
    answer = (socket) => socket.write(`${ok}content-length: 20\r\n\r\nhello`);
    const heard: string[] = [];
    const socketClosed = new Promise<void>((resolve) => {
      agent.dispatch(
        { origin, ...request },
        {
          onRequestStart: () => undefined,
          onResponseData: (controller) => {
            sockets[0]?.once('close', () => resolve());
            controller.abort(new Error('enough'));
            controller.abort(new Error('again'));
          },
          onResponseEnd: () => void heard.push('end'),
          onResponseError: (_controller, { message }) => void heard.push(message),
        },
      );
    });
    await socketClosed;
    expect(heard).toEqual(['enough']);
  });

  it('waits while its response is paused', async () => {
    const size = 4_000_000;
    answer = (socket) => socket.write(`${ok}content-length: ${size}\r\n\r\n${'x'.repeat(size)}`);
    let bytes = 0;
    let pauses = 0;
    await new Promise<void>((resolve) => {
      agent.dispatch(
        { origin, ...request },
        {
          onRequestStart: () => undefined,
          onResponseData: (controller, chunk) => {
            expect(controller.paused).toBe(false);
            bytes += chunk.length;
            pauses += 1;
            controller.pause();
            setImmediate(() => controller.resume());
          },
          onResponseEnd: () => resolve(),
        },
      );
    });
    expect(bytes).toBe(size);
    expect(pauses).toBeGreaterThan(10);
    answer = (socket) => socket.write(small);
    expect((await post(agent, origin)).body).toBe('hi');
    expect(sockets).toHaveLength(1);
  });

  it('to a server that is not there fails with the code of that', async () => {
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => {
      const free = createServer().listen(0, '127.0.0.1', () => {
        const unused = `http://127.0.0.1:${(free.address() as AddressInfo).port}`;
        free.close(() =>
          agent.dispatch(
            { origin: unused, ...request },
            { onRequestStart: () => undefined, onResponseError: (_controller, failure) => resolve(failure) },
          ),
        );
      });
    });
    expect(error.code).toBe('ECONNREFUSED');
  });

  it.each<[string, Unusual]>([
    ['a header about the connection', { headers: { 'content-length': '13' } }],
    ['a header of its own host', { headers: { host: 'other' } }],
    ['a header beyond ASCII', { headers: { 'x-a': '\u{e4}' } }],
    ['another method', { method: 'PUT' }],
    ['bytes', { body: Buffer.from('{}') }],
  ])('with %s goes through undici', async (_what, more) => {
    const theirs = vi.spyOn(Agent.prototype, 'dispatch');
    answer = (socket) => socket.write(small);
    expect((await post(agent, origin, more)).body).toBe('hi');
    expect((await post(agent, origin, more)).body).toBe('hi');
    expect(theirs).toHaveBeenCalledTimes(2);
    theirs.mockRestore();
    const [head = ''] = (requests[0] ?? '').split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^${more.method ?? 'POST'} /mcp\\?a=b HTTP/1.1\r\n`));
    expect(head.match(/^host: .*$/gim)).toEqual([`host: ${more.headers?.['host'] ?? new URL(origin).host}`]);
    expect(head.match(/^content-length: /gim)).toHaveLength(1);
  });

  it.each([
    ['a line break in a header', { headers: { 'x-a': 'b\r\nx-c: d' } }],
    ['a line break in its path', { path: '/mcp HTTP/1.1\r\nx-c: d' }],
  ])('with %s is not sent', async (_what, more) => {
    answer = (socket) => socket.write(small);
    expect((await post(agent, origin, more)).outcome).toBe('failed');
    expect(requests).toEqual([]);
  });

  it('keeps its process alive until its response has ended, and no longer', async () => {
    // Of the two, one is that of the server.
    const alive = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
    await expect.poll(alive).toBe(0);
    let respond: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = (socket) => {
        respond = () => void socket.write(small);
        resolve();
      };
    });
    const response = post(agent, origin);
    await asked;
    expect(alive()).toBe(2);
    respond();
    expect((await response).body).toBe('hi');
    expect(alive()).toBe(1);
  });

  it('fails when the agent is destroyed, and later ones too', async () => {
    const asked = new Promise<void>((resolve) => {
      answer = () => resolve();
    });
    const waiting = post(agent, origin);
    await asked;
    await agent.end();
    expect((await waiting).outcome).toBe('failed');
    expect((await post(agent, origin)).outcome).toBe('failed');
  });
});
