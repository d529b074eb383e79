import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { legacyRevisions, newSessionId } from '@omnibus/protocol';
import { shapesOfLane, startGateway } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

describe.each(shapesOfLane)('a session, %s', (shape) => {
  let upstream: Upstream;
  let gateway: GatewayHere;

  beforeAll(async () => {
    upstream = await Upstream.start();
    gateway = await startGatewayHere(shape, { mcpServers: { up: { url: upstream.url } } });
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it.each(legacyRevisions)('speaks revision %s with a client that asks for it', async (revision) => {
    let answer = await new RawClient(gateway.url).initialize(revision);
    // On a machine that stalls, an answer takes longer than a moment and comes as a stream.
    while (answer.type === 'text/event-stream') answer = await new RawClient(gateway.url).initialize(revision);
    expect(answer).toMatchObject({
      status: 200,
      type: 'application/json',
      last: { id: 'init', result: { protocolVersion: revision, serverInfo: { name: 'omnibus' } } },
    });
    expect(answer.session).toMatch(/^[\x21-\x7E]{22,}$/);
  });

  it('answers an unknown revision with its latest', async () => {
    const answer = await new RawClient(gateway.url).initialize('2099-01-01');
    expect(answer.last.result?.['protocolVersion']).toBe('2025-11-25');
  });

  it('is opened whatever revision a header names before one is agreed on, and no other request is served then', async () => {
    const client = new RawClient(gateway.url, { 'mcp-protocol-version': '2099-01-01' });
    const answer = await client.initialize('2099-01-01');
    expect(answer.last.result?.['protocolVersion']).toBe('2025-11-25');
    client.session = answer.session ?? '';
    expect(await client.request('tools/list')).toMatchObject({
      status: 400,
      last: { error: { data: { reason: 'revision.unsupported' } } },
    });
  });

  it('is required: without its id a request is refused with 400, with an unknown one with 404', async () => {
    const client = new RawClient(gateway.url);
    expect(await client.request('tools/list')).toMatchObject({
      status: 400,
      last: { id: 1, error: { data: { reason: 'session.missing' } } },
    });
    client.session = newSessionId();
    expect(await client.request('tools/list')).toMatchObject({
      status: 404,
      last: { id: 2, error: { data: { reason: 'session.unknown' } } },
    });
    expect(await client.delete()).toBe(404);
    await expect(client.listen()).rejects.toThrow('404');
    client.session = 'nonsense';
    expect(await client.request('tools/list')).toMatchObject({
      status: 404,
      last: { error: { data: { reason: 'session.unknown' } } },
    });
  });

  it('ends with DELETE: afterwards it is unknown', async () => {
    using client = await RawClient.open(gateway.url);
    expect((await client.request('ping')).last.result).toEqual({});
    expect(await client.delete()).toBe(204);
    expect((await client.request('ping')).status).toBe(404);
  });

  it('belongs to its endpoint: at another one it is unknown', async () => {
    using client = await RawClient.open(gateway.url);
    const other = new RawClient(`${gateway.url}/up`);
    other.session = client.session;
    expect((await other.request('ping')).status).toBe(404);
  });

  it('can be initialized only once', async () => {
    using client = await RawClient.open(gateway.url);
    expect((await client.initialize('2025-06-18')).last.error?.data).toMatchObject({ reason: 'session.initialized' });
  });

  it('can be opened only at endpoints that exist', async () => {
    expect((await new RawClient(`${gateway.url}/nothing`).initialize('2025-06-18')).status).toBe(404);
    expect((await new RawClient(gateway.url.replace('/mcp', '/other')).initialize('2025-06-18')).status).toBe(404);
  });

  it('refuses a header with an unknown revision', async () => {
    using client = await RawClient.open(gateway.url);
    expect(
      (await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '1999-01-01' })).status,
    ).toBe(400);
    expect(
      (await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '2025-06-18' })).status,
    ).toBe(200);
  });
});

it('an edge that is stopped goes on serving for a while, and closes connections after their next response', async () => {
  await using upstream = await Upstream.start();
  await using gateway = await startGateway('nats', {
    timeouts: { leave: '3s' },
    mcpServers: { up: { url: upstream.url } },
  });
  using client = await RawClient.open(gateway.url);
  const admin = await gateway.admin(gateway.edge);
  gateway.edge.kill('SIGTERM');
  await gateway.edge.line(/"msg":"stopping"/);
  expect((await fetch(`http://${admin}/readyz`)).status).toBe(503);
  const answer = await fetch(gateway.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': client.session as string,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  expect(await answer.json()).toMatchObject({ result: {} });
  expect(answer.headers.get('connection')).toBe('close');
  expect((await new RawClient(gateway.url).initialize('2025-11-25')).status).toBe(200);
  await gateway.edge.line(/"msg":"stopped"/);
});
