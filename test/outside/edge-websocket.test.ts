/** Faults of clients on a WebSocket that are possible over HTTP as well have the same results. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import { dial, exchange, requestText } from '../support/raw-http.ts';

const limits = { maxBodyBytes: 100_000, maxHeaderBytes: 16_384 };
const upgrade = [
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
];
const reasonOf = (body: string): unknown =>
  (JSON.parse(body) as { error: { data: { reason: unknown } } }).error.data.reason;

let gateway: GatewayHere;
/** One with a time limit of a second for requests. */
let hasty: GatewayHere;
let stack: AsyncDisposableStack;

beforeAll(async () => {
  [gateway, hasty] = await Promise.all([
    startGatewayHere('embedded', { limits, mcpServers: {} }),
    startGatewayHere('embedded', { limits, timeouts: { request: '1s' }, mcpServers: {} }),
  ]);
});
afterAll(async () => void (await Promise.all([gateway, hasty].map((each) => each[Symbol.asyncDispose]()))));
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

const refused = async (reason: string, by = gateway): Promise<number> =>
  (await metricsOf(by.edge)).get(`omnibus_refusals_total{reason="${reason}"}`) ?? 0;

describe('an upgrade', () => {
  it.each<readonly [string, readonly string[], number, string]>([
    ['with a second Host', ['GET /ws HTTP/1.1', 'host: localhost', ...upgrade], 400, 'http.invalid'],
    [
      'of an absolute target of a foreign host',
      ['GET http://evil.example.com/ws HTTP/1.1', ...upgrade],
      403,
      'host.forbidden',
    ],
    [
      'of a foreign Origin',
      ['GET /ws HTTP/1.1', 'origin: http://evil.example.com', ...upgrade],
      403,
      'origin.forbidden',
    ],
    ['of an Origin that is null', ['GET /ws HTTP/1.1', 'origin: null', ...upgrade], 403, 'origin.forbidden'],
    ['of an endpoint nobody serves', ['GET /ws/nobody HTTP/1.1', ...upgrade], 404, 'http.path_unknown'],
    ['of a path that climbs', ['GET /ws/../ws HTTP/1.1', ...upgrade], 404, 'http.path_unknown'],
    ['of an encoded path', ['GET /%77s HTTP/1.1', ...upgrade], 404, 'http.path_unknown'],
    ['of a doubled slash', ['GET //ws HTTP/1.1', ...upgrade], 404, 'http.path_unknown'],
    ['of the endpoint of HTTP', ['GET /mcp HTTP/1.1', ...upgrade], 404, 'http.path_unknown'],
    [
      'with more headers than there may be bytes of them',
      ['GET /ws HTTP/1.1', `x-much: ${'x'.repeat(20_000)}`, ...upgrade],
      431,
      'http.headers_too_large',
    ],
    ['with a control character in a header', ['GET /ws HTTP/1.1', 'x-odd: a\u0000b', ...upgrade], 400, 'http.invalid'],
    ['that is not asked for by GET', ['DELETE /ws HTTP/1.1', ...upgrade], 404, 'http.path_unknown'],
  ])('%s is answered by a status and a reason of the table', async (_what, lines, status, reason) => {
    const answer = await exchange(gateway.url, Buffer.from(requestText(gateway.url, lines), 'latin1'));
    expect([answer.status, reasonOf(answer.body)]).toEqual([status, reason]);
  });

  it.each<readonly [string, readonly string[], number]>([
    ['without a key', ['GET /ws HTTP/1.1', ...upgrade.slice(0, 3)], 400],
    [
      'of another version',
      ['GET /ws HTTP/1.1', ...upgrade.filter((line) => !line.includes('version')), 'sec-websocket-version: 7'],
      426,
    ],
    ['of two keys', ['GET /ws HTTP/1.1', ...upgrade, 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=='], 400],
  ])('%s is no WebSocket', async (_what, lines, status) => {
    const { status: answered } = await exchange(gateway.url, requestText(gateway.url, lines));
    expect([400, 405, status]).toContain(answered);
    expect(answered).not.toBe(101);
  });
});

/** An open WebSocket, on which a test sends single frames. */
async function opened(
  at = gateway,
): Promise<{ readonly socket: Socket; readonly closed: Promise<number | undefined> }> {
  const socket = await dial(at.url);
  stack.defer(() => void socket.destroy());
  socket.write(requestText(at.url, ['GET /ws HTTP/1.1', ...upgrade]));
  await once(socket, 'data');
  let heard = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]);
  });
  // A client that still writes after the gateway has closed hears of a reset.
  socket.on('error', () => undefined);
  // The code of a close frame, when there was one (RFC 6455, 5.5.1).
  const closed = new Promise<number | undefined>((resolve) => {
    socket.once('close', () => resolve(heard[0] === 0x88 ? heard.readUInt16BE(2) : undefined));
  });
  return { socket, closed };
}

/** A frame with a mask of zeros, as clients send it. @param opcode with the bit of the last frame of a message. */
function frame(opcode: number, payload: Buffer, isMasked = true): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head =
    payload.length < 126
      ? Buffer.from([opcode, mask | payload.length])
      : Buffer.from([
          opcode,
          mask | 127,
          0,
          0,
          0,
          0,
          ...[24, 16, 8, 0].map((bits) => (payload.length >>> bits) & 0xff),
        ]);
  return Buffer.concat([head, isMasked ? Buffer.alloc(4) : Buffer.alloc(0), payload]);
}

describe('a frame', () => {
  it.each<readonly [string, Buffer, number, string]>([
    ['of a message that is too large', frame(0x81, Buffer.alloc(200_000, 0x20)), 1009, 'message.too_large'],
    ['whose text is not UTF-8', frame(0x81, Buffer.from([0xed, 0xa0, 0x80])), 1007, 'message.invalid'],
    ['that is not masked', frame(0x81, Buffer.from('{}'), false), 1002, 'message.invalid'],
    ['of a kind nobody knows', frame(0x83, Buffer.from('{}')), 1002, 'message.invalid'],
    ['that is said to be compressed', frame(0xc1, Buffer.from('{}')), 1002, 'message.invalid'],
    ['that goes on with nothing', frame(0x80, Buffer.from('{}')), 1002, 'message.invalid'],
    ['that is binary', frame(0x82, Buffer.from('{}')), 1003, 'message.invalid'],
  ])('%s ends the connection with its reason, and is counted', async (_what, bytes, code, reason) => {
    const before = await refused(reason);
    const { socket, closed } = await opened();
    socket.write(bytes);
    socket.on('end', () => socket.end());
    // A close frame is answered with another one.
    socket.on('data', () => socket.write(frame(0x88, Buffer.from([code >> 8, code & 0xff]))));
    expect(await closed).toBe(code);
    expect(await refused(reason)).toBe(before + 1);
  });

  it('that comes byte by byte ends the connection, since each of its pieces takes more than its byte, and is counted', async () => {
    const before = await refused('message.invalid');
    const { socket, closed } = await opened();
    const code = Buffer.from([1_008 >> 8, 1_008 & 0xff]);
    const said: Buffer[] = [];
    socket.setNoDelay(true).on('end', () => socket.end());
    socket.on('data', (chunk: Buffer) => {
      said.push(chunk);
      socket.write(frame(0x88, code));
    });
    const whole = frame(0x81, Buffer.alloc(50_000, 0x20));
    for (let at = 0; at < 20_000 && said.length === 0; at += 1) {
      socket.write(whole.subarray(at, at + 1));
      // The gateway is in this process, and reads it now.
      await setImmediate();
    }
    expect(said).not.toEqual([]);
    expect(await closed).toBe(1_008);
    expect(await refused('message.invalid')).toBe(before + 1);
  });

  it('that is never complete ends the connection after the time limit of a request, whatever else is sent meanwhile', async () => {
    const before = await refused('http.timeout', hasty);
    const { socket, closed } = await opened(hasty);
    const whole = frame(0x01, Buffer.from('{"jsonrpc":'));
    socket.write(whole.subarray(0, whole.length - 1));
    await closed;
    expect(await refused('http.timeout', hasty)).toBe(before + 1);
    const many = await opened(hasty);
    many.socket.write(whole);
    const more = setInterval(
      () => many.socket.write(Buffer.concat([frame(0x00, Buffer.from(' ')), frame(0x89, Buffer.from('ping'))])),
      50,
    );
    stack.defer(() => clearInterval(more));
    await many.closed;
    expect(await refused('http.timeout', hasty)).toBe(before + 2);
  });
});

it('complete messages are served for as long as they come', async () => {
  const socket = new WebSocket(hasty.url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
  stack.defer(() => socket.terminate());
  await once(socket, 'open');
  // Each message in two frames, for longer than one of them may take.
  for (const endsAt = Date.now() + 2_000; Date.now() < endsAt;) {
    const answered = once(socket, 'message');
    socket.send('{"jsonrpc":"2.0","id":1,', { fin: false });
    socket.send('"method":"ping"}', { fin: true });
    expect(JSON.parse(String((await answered)[0]))).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  }
});

it('refusals on a WebSocket are counted as over HTTP', async () => {
  const counts = await Promise.all(
    ['message.not_json', 'session.missing', 'envelope.invalid'].map((reason) => refused(reason)),
  );
  const socket = new WebSocket(gateway.url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
  stack.defer(() => socket.terminate());
  await once(socket, 'open');
  for (const text of [
    '{',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
  ]) {
    const answered = once(socket, 'message');
    socket.send(text);
    await answered;
  }
  expect(
    await Promise.all(['message.not_json', 'session.missing', 'envelope.invalid'].map((reason) => refused(reason))),
  ).toEqual(counts.map((count) => count + 1));
});
