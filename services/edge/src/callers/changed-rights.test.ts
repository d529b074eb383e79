/** Connections that stay open: what comes over them is done with the rights that its sender has then, not with those it had when it connected. */
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { subjects } from '@omnibus/bus';
import { Authenticator, formatKeys, newKey } from '@omnibus/identity';
import { newSessionId, newWorkerId, type Caller, type Facts, type OpenReply } from '@omnibus/protocol';
import { EdgeUnderTest, initialize } from '../edge-under-test.ts';

let folder: string;
let test: EdgeUnderTest;
const full = newKey({ subject: 'ann', groups: ['ops'] });
const limited = newKey({ subject: 'ann', groups: ['ops'], tools: ['a/echo'] });

async function writeKeys(groups: readonly string[]): Promise<void> {
  await writeFile(join(folder, 'new'), formatKeys([{ ...full.record, groups: [...groups] }, limited.record]));
  await rename(join(folder, 'new'), join(folder, 'keys.yaml'));
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-edge-'));
  await writeKeys(['ops']);
  test = await EdgeUnderTest.start('mcpServers: { a: { url: "http://127.0.0.1:1" } }', {
    authenticate: () => Authenticator.open({ keysFile: join(folder, 'keys.yaml'), issuers: [], warn: () => undefined }),
  });
});

afterEach(async () => {
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
  await rm(folder, { recursive: true });
});

const groupsOf = (caller: Caller | undefined): readonly string[] | undefined => caller?.facts?.groups;

/** Opens a stream of HTTP+SSE. @returns a function that posts a message to it with a key. */
async function eventSource(): Promise<(key: string, message: object) => Promise<number>> {
  const stream = await fetch(`${test.origin}/sse`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${full.key}` },
  });
  const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  const path = /data: (\S+)/.exec((await reader.read()).value ?? '')?.[1] ?? '';
  return async (key, message) =>
    (
      await fetch(`${test.origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify(message),
      })
    ).status;
}

it('a message that is posted to a stream of HTTP+SSE is done with the rights of its own key', async () => {
  const callers = await test.serveStateless();
  const request = JSON.parse(test.stateless({}, 'tools/list').body) as object;
  const post = await eventSource();
  for (const key of [full.key, limited.key, full.key]) expect(await post(key, request)).toBe(202);
  expect(callers.map(({ facts }) => facts?.tools)).toEqual([undefined, ['a/echo'], undefined]);
  await writeKeys([]);
  await expect
    .poll(async () => {
      await post(full.key, request);
      return groupsOf(callers.at(-1));
    })
    .toEqual([]);
});

it('so is one that waits until its session is open', async () => {
  const [opens, posts]: [((reply: OpenReply) => void)[], (Facts | undefined)[]] = [[], []];
  const worker = newWorkerId('session');
  await test.bus.subscribe(subjects.sessionOpen(undefined), (_command, reply) => void opens.push(reply));
  await test.bus.subscribe(subjects.session(worker), ({ command }, reply) => {
    if (command.kind === 'post') posts.push(command.caller.facts);
    reply({ kind: 'accepted' });
  });
  const post = await eventSource();
  expect(await post(full.key, initialize)).toBe(202);
  for (const key of [limited.key, full.key])
    expect(await post(key, { jsonrpc: '2.0', id: 2, method: 'tools/list' })).toBe(202);
  opens[0]?.({ kind: 'opened', session: newSessionId(), worker, text: '{"jsonrpc":"2.0","id":1,"result":{}}' });
  await expect.poll(() => posts.map((facts) => facts?.tools)).toEqual([['a/echo'], undefined]);
});

it('what comes over a WebSocket is done with the groups that its key has then', async () => {
  const callers = await test.serveStateless();
  const { body } = test.stateless({}, 'tools/list');
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`, 'mcp', {
    headers: { authorization: `Bearer ${full.key}` },
  });
  await once(socket, 'open');
  const ask = async (): Promise<readonly string[] | undefined> => {
    const answered = once(socket, 'message');
    socket.send(body);
    await answered;
    return groupsOf(callers.at(-1));
  };
  expect(await ask()).toEqual(['ops']);
  await writeKeys([]);
  await expect.poll(ask).toEqual([]);
  socket.terminate();
});

it('a subscription ends when its key is in other groups, so that nothing is told of what they permitted; one whose groups are as before goes on', async () => {
  await test.serveStateless();
  const listen = async (key: string): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
    const reader = (
      (await test.postStateless({ authorization: `Bearer ${key}` }, '/mcp', 'subscriptions/listen'))
        .body as ReadableStream<Uint8Array>
    ).getReader();
    await reader.read();
    return reader;
  };
  const [ended, open] = [await listen(full.key), await listen(limited.key)];
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`, 'mcp', {
    headers: { authorization: `Bearer ${full.key}` },
  });
  await once(socket, 'open');
  const acknowledged = once(socket, 'message');
  socket.send(test.stateless({}, 'subscriptions/listen').body);
  await acknowledged;
  const takenBack = once(socket, 'message');
  await writeKeys([]);
  expect(JSON.parse(String(((await takenBack) as [Buffer])[0]))).toMatchObject({
    method: 'notifications/cancelled',
    params: { requestId: 1 },
  });
  socket.terminate();
  expect((await ended.read()).done).toBe(true);
  expect(await Promise.race([open.read(), Promise.resolve('open')])).toBe('open');
});
