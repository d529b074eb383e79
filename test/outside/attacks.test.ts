/**
 * Bob has all ids and tokens that Ann received: of her session, stream, task, cursor, question and request, and the state of her waiting call. With a
 * valid key of his own, none of it gives Bob access, and Ann's keep working. Other attacks on identity are listed in `docs/internals/outside.md`, "Callers and their identities", each
 * with its test.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { KeeperHost } from '../isolation/keeper-hosts.ts';
import { EventReader } from '../support/event-reader.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';

const tasks = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const accepted = (marker: string): JsonObject => ({ action: 'accept', content: { answer: marker } });

describe.each(shapesOfLane)('%s', (shape) => {
  let hosts: readonly KeeperHost[];
  let keys: Keys;
  let gateway: GatewayHere;
  let ann: RawClient;
  let bob: RawClient;
  let modern: ModernClient;
  let count = 0;

  /** A text of Ann that Bob must not receive. */
  function newMarker(): string {
    count += 1;
    return `mk-00000000000000aa-${count}`;
  }

  const hers = (): Readonly<Record<string, string>> => keys.headersOf('ann');
  const his = (): Readonly<Record<string, string>> => keys.headersOf('bob');
  const callOf = (id: string, name: string, args: JsonObject): JsonObject => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });

  function openAskable(headers: Readonly<Record<string, string>>): Promise<RawClient> {
    return RawClient.open(gateway.url, '2025-11-25', headers, tasks);
  }

  /** The answer is an error, and contains no text of Ann. */
  function expectNothing({ last, body }: Answer): void {
    expect(last.result, body).toBeUndefined();
    expect(last.error).toBeDefined();
    expect(body).not.toContain('mk-00000000000000aa');
  }

  beforeAll(async () => {
    keys = await Keys.make('ann', 'bob');
    hosts = await Promise.all([
      KeeperHost.start('web', '2025-11-25', () => undefined),
      KeeperHost.start('newer', '2026-07-28', () => undefined),
    ]);
    const [web, newer] = hosts as [KeeperHost, KeeperHost];
    gateway = await startGatewayHere(shape, {
      auth: { ...keys.auth, proxy: { addresses: ['10.0.0.1'], userHeader: 'x-forwarded-user' } },
      mcpServers: { web: { url: web.url('http') }, newer: { url: newer.url('http') } },
    });
    [ann, bob] = [await openAskable(hers()), await openAskable(his())];
    modern = new ModernClient(gateway.url, tasks);
    await ann.untilTools((names) => names.includes('web__ask') && names.includes('newer__ask'));
  });

  afterAll(async () => {
    for (const client of [ann, bob, modern]) client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    for (const host of hosts) await host[Symbol.asyncDispose]();
    await keys[Symbol.asyncDispose]();
  });

  const attacks: Readonly<Record<string, () => Promise<void>>> = {
    async 'the id of her session, and of the last event of her stream'() {
      const marker = newMarker();
      const stream = await EventReader.open(gateway.url, ann.session as string, {
        body: callOf('waits', 'web__ask', { marker, what: 'form' }),
        credentials: hers(),
      });
      const { message } = await stream.events.untilSome((event) => event.message?.method === 'elicitation/create');
      const lastEventId = stream.lastId;
      for (const [session, more] of [
        [ann.session, { lastEventId }],
        [ann.session, {}],
      ] as const)
        expect((await EventReader.open(gateway.url, session as string, { ...more, credentials: his() })).status).toBe(
          404,
        );
      const stolen = await EventReader.open(gateway.url, bob.session as string, { lastEventId, credentials: his() });
      await bob.request('ping');
      stolen.break();
      await stolen.ended;
      expect(JSON.stringify(stolen.messages)).not.toContain('mk-');
      await ann.post({ jsonrpc: '2.0', id: message?.id, result: accepted(marker) });
      await stream.events.untilSome(
        (event) => event.message?.id === 'waits' && JSON.stringify(event.message.result).includes(marker),
      );
    },

    async 'the inbox of her stream of HTTP+SSE'() {
      const connection = new AbortController();
      const response = await fetch(gateway.url.replace('/mcp', '/sse'), {
        headers: { accept: 'text/event-stream', ...hers() },
        signal: connection.signal,
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const [, path] = /data: (\S+)/.exec(new TextDecoder().decode((await reader.read()).value)) as unknown as [
        string,
        string,
      ];
      const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
      const post = async (headers: Readonly<Record<string, string>>): Promise<number> =>
        (
          await fetch(new URL(path, gateway.url), {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body: ping,
          })
        ).status;
      expect([await post(his()), await post({}), await post(hers())]).toEqual([404, 401, 202]);
      connection.abort();
    },

    async 'the ids of her tasks, and her cursor among them'() {
      const ids: string[] = [];
      for (const marker of [newMarker(), newMarker(), newMarker()]) {
        const { last } = await ann.request('tools/call', {
          name: 'web__task',
          arguments: { marker },
          task: { ttl: 60_000 },
        });
        ids.push((last.result?.['task'] as { readonly taskId: string }).taskId);
      }
      const {
        last: { result },
      } = await ann.request('tasks/list');
      expect(JSON.stringify(result)).toContain(ids[0]);
      expectNothing(await bob.request('tasks/list', { cursor: String(result?.['nextCursor']) }));
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
        expectNothing(await bob.request(method, { taskId: ids[0] as string }));
      expect((await bob.request('tasks/list')).body).not.toContain('mk-00000000000000aa');
      expect((await ann.request('tasks/result', { taskId: ids[0] as string })).body).toContain('mk-00000000000000aa');
    },

    async 'the id of a task that wants something of her (2026-07-28)'() {
      const marker = newMarker();
      const { last } = await modern.request('tools/call', { name: 'newer__job', arguments: { marker } }, hers());
      const { taskId } = last.result as { readonly taskId: string };
      const asked = await modern.request('tasks/get', { taskId }, hers());
      const [key] = Object.keys(asked.last.result?.['inputRequests'] as JsonObject) as [string];
      const answer = { taskId, inputResponses: { [key]: accepted(marker) } };
      expectNothing(await modern.request('tasks/get', { taskId }, his()));
      expectNothing(await modern.request('tasks/update', answer, his()));
      expect((await modern.request('tasks/get', { taskId }, hers())).last.result).toMatchObject({
        status: 'input_required',
      });
      await modern.request('tasks/update', answer, hers());
      expect((await modern.request('tasks/get', { taskId }, hers())).body).toContain(`job of ${marker}`);
    },

    async 'the state of her call that waits, of servers of either era'() {
      for (const name of ['web__ask', 'newer__ask']) {
        const marker = newMarker();
        const params = { name, arguments: { marker, what: 'form' } };
        const { requests, requestState } = required(await modern.request('tools/call', params, hers()));
        const next = {
          ...params,
          requestState,
          inputResponses: Object.fromEntries(Object.keys(requests).map((key) => [key, accepted(marker)])),
        };
        expectNothing(await modern.request('tools/call', next, his()));
        expect((await modern.request('tools/call', next, hers())).body).toContain(`${marker} was answered`);
      }
    },

    async 'the ids of her questions, and of her request'() {
      const marker = newMarker();
      const stream = await EventReader.open(gateway.url, ann.session as string, {
        body: callOf('hers', 'web__ask', { marker, what: 'form' }),
        credentials: hers(),
      });
      const { message } = await stream.events.untilSome((event) => event.message?.method === 'elicitation/create');
      await bob.post({ jsonrpc: '2.0', id: message?.id, result: accepted('mk-00000000000000bb-1') });
      await bob.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'hers' } });
      await bob.request('ping');
      await ann.post({ jsonrpc: '2.0', id: message?.id, result: accepted(marker) });
      const { message: answer } = await stream.events.untilSome((event) => event.message?.id === 'hers');
      expect(JSON.stringify(answer)).toContain(marker);
      expect(JSON.stringify(answer)).not.toContain('mk-00000000000000bb');
    },

    async 'the word of a proxy that is none, or her name in any header'() {
      for (const headers of [
        { 'x-forwarded-user': 'ann' },
        { 'x-forwarded-user': 'ann', 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' },
        { 'x-real-ip': '10.0.0.1', 'x-forwarded-user': 'ann' },
      ] as const) {
        expect(
          (await new RawClient(gateway.url, headers as Readonly<Record<string, string>>).initialize('2025-11-25'))
            .status,
        ).toBe(401);
      }
      const stolen = new RawClient(gateway.url, { ...his(), 'x-forwarded-user': 'ann' });
      stolen.session = ann.session;
      expect((await stolen.request('ping')).status).not.toBe(200);
    },

    async 'a page that rebinds its name to the gateway, with her key'() {
      const status = (path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
        new Promise((resolve, reject) => {
          request(
            new URL(path, gateway.url),
            { method: 'POST', headers: { 'content-type': 'application/json', ...hers(), ...headers } },
            (response) => {
              response.resume();
              resolve(response.statusCode ?? 0);
            },
          )
            .on('error', reject)
            .end('{"jsonrpc":"2.0","id":1,"method":"ping"}');
        });
      for (const path of ['/mcp', '/mcp/web', '/messages?sessionId=x']) {
        expect(await status(path, { host: 'evil.example' }), path).toBe(403);
        expect(await status(path, { origin: 'https://evil.example' }), path).toBe(403);
      }
    },
  };

  it.each(Object.entries(attacks))('gives no access: %s', (_what, attempt) => attempt());
});
