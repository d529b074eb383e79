/** A program that is served over WebSockets: each connection has its own process. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Heard } from '@omnibus/bus/testing';
import { createLogger } from '@omnibus/telemetry';
import { expose, type Exposed, type ExposeOptions } from './expose.ts';

const opened: Exposed[] = [];
afterEach(() => Promise.all(opened.splice(0).map((each) => each.close())));

const log = createLogger({ level: 'silent', format: 'json' });
/** Prints its process id, and echoes its input. */
const echo =
  "process.stdout.write(JSON.stringify({ pid: process.pid }) + '\\n'); process.stdin.on('data', (text) => process.stdout.write(text)).on('end', () => process.exit());";

async function serve(script: string, more: Partial<ExposeOptions> = {}): Promise<string> {
  const exposed = await expose({
    host: '127.0.0.1',
    port: 0,
    command: process.execPath,
    args: ['-e', script],
    env: {},
    cwd: '/',
    maxPrograms: 3,
    maxBytes: 1_000_000,
    log,
    ...more,
  });
  opened.push(exposed);
  return `ws://127.0.0.1:${exposed.port}/`;
}

async function connect(url: string): Promise<{
  readonly socket: WebSocket;
  readonly heard: Heard<string>;
  readonly closed: Promise<readonly [number, string]>;
}> {
  const socket = new WebSocket(url, 'mcp');
  const heard = new Heard<string>();
  socket.on('message', (data: Buffer) => heard.add(data.toString()));
  const closed = new Promise<readonly [number, string]>((resolve) => {
    socket.on('close', (code, reason) => resolve([code, reason.toString()]));
  });
  await once(socket, 'open');
  return { socket, heard, closed };
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('each connection has a program of its own, which ends with it', async () => {
  const url = await serve(echo);
  const [one, other] = [await connect(url), await connect(url)];
  const [pid, otherPid] = (await Promise.all(
    [one, other].map(
      async ({ heard }) => (JSON.parse((await heard.until(1))[0] as string) as { readonly pid: number }).pid,
    ),
  )) as [number, number];
  expect(pid).not.toBe(otherPid);
  one.socket.close();
  await expect.poll(() => isRunning(pid)).toBe(false);
  expect(isRunning(otherPid)).toBe(true);
});

it('a frame is a line and a line a frame, with every byte of the message in it', async () => {
  const { socket, heard } = await connect(await serve(echo));
  await heard.until(1);
  const message = { jsonrpc: '2.0', id: 1, result: { text: 'line\nline \u{1F600} \u2028', big: 'x'.repeat(200_000) } };
  socket.send(JSON.stringify(message, undefined, 2));
  socket.send('{"n":12345678901234567890}');
  const [, first, second] = await heard.until(3);
  expect(JSON.parse(first as string)).toEqual(message);
  expect(second).toBe('{"n":12345678901234567890}');
});

it('a program that ends closes its connection, one that cannot be started too, and the next connection starts another', async () => {
  const url = await serve('process.stdin.once("data", () => process.exit(3))');
  const one = await connect(url);
  one.socket.send('{}');
  expect(await one.closed).toEqual([1011, 'the program ended with exit code 3']);
  await connect(url);
  const none = await connect(await serve('', { command: `/x${'é'.repeat(100)}` }));
  // A close reason has 123 bytes at most; 16 are before the first é, which has two.
  expect(await none.closed).toEqual([1011, `cannot start "/x${'é'.repeat(53)}`]);
});

it('a program that closed its output and runs on is waited for when all is ended', async () => {
  const url = await serve(
    `${echo} process.once('SIGTERM', () => undefined); setInterval(() => undefined, 1_000); process.stdin.once('data', () => require('node:fs').closeSync(1));`,
  );
  const { socket, heard, closed } = await connect(url);
  const { pid } = JSON.parse((await heard.until(1))[0] as string) as { readonly pid: number };
  socket.send('{}');
  expect(await closed).toEqual([1011, 'the program runs on, but has closed its output (stdout)']);
  await opened.pop()?.close();
  expect(isRunning(pid)).toBe(false);
});

it('who comes when all programs are in use is refused, and served when one is free', async () => {
  const url = await serve(echo, { maxPrograms: 1 });
  const one = await connect(url);
  await one.heard.until(1);
  const [error] = (await once(new WebSocket(url, 'mcp'), 'error')) as [Error];
  expect(error.message).toContain('503');
  one.socket.close();
  await expect
    .poll(() =>
      connect(url).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
});

it('a line that is too long, and a frame that is no text, end the connection', async () => {
  const long = await connect(
    await serve('process.stdout.write("x".repeat(3000)); process.stdin.resume();', { maxBytes: 1_000 }),
  );
  expect((await long.closed)[0]).toBe(1009);
  const binary = await connect(await serve(echo));
  binary.socket.send(Buffer.from([1, 2]));
  expect((await binary.closed)[0]).toBe(1003);
});

it('a frame that comes byte by byte ends the connection, since each of its pieces takes more than its byte', async () => {
  const socket = new WebSocket(await serve(echo, { maxBytes: 100_000 }), 'mcp');
  const closed = once(socket, 'close');
  const [{ socket: raw }] = (await once(socket, 'upgrade')) as [IncomingMessage];
  raw.setNoDelay(true);
  // The head of a text frame of 50,000 bytes, with a mask of zeros (RFC 6455, 5.2).
  raw.write(Buffer.from([0x81, 0x80 | 126, 50_000 >> 8, 50_000 & 0xff, 0, 0, 0, 0]));
  for (let at = 0; at < 20_000 && socket.readyState === WebSocket.OPEN; at += 1) {
    raw.write(' ');
    // The server is in this process, and reads it now.
    await setImmediate();
  }
  expect(socket.readyState).not.toBe(WebSocket.OPEN);
  expect((await closed)[0]).toBe(1_008);
});

it('says that it is there, and that it speaks nothing but WebSockets', async () => {
  const url = (await serve(echo)).replace('ws:', 'http:');
  expect((await fetch(`${url}healthz`)).status).toBe(200);
  expect((await fetch(url)).status).toBe(426);
});
