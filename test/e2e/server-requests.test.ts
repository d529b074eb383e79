import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '@omnibus/bus/testing';
import { type GatewayOf, shapes, startGateway } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { isLongLane } from '../support/lane.ts';
import { fixturePath, type Printing } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { turnable, turnByMinute } from '../support/turned-clock.ts';

const textOf = (result: object): string =>
  ((result as { content?: unknown }).content as { text: string }[])[0]?.text ?? '';

/** A client that answers every question with its own name. */
async function openClient(url: string, name: string): Promise<Client> {
  const client = new Client(
    { name, version: '1' },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    content: { type: 'text', text: `sampled by ${name}` },
    model: 'none',
  }));
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { answer: `answered by ${name}` },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${name}` }] }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const ask = async (client: Client, tool: string): Promise<string> =>
  textOf(await client.callTool({ name: tool, arguments: {} }));

describe.each(shapes)("a server's question, %s", (shape) => {
  let gateway: Pick<GatewayOf<Printing>, 'url'> & AsyncDisposable;
  /** Turns the clock of the one process by a minute. */
  let turn: (() => Promise<void>) | undefined;
  const patience = shape === 'embedded' || !isLongLane ? '60s' : '10s';

  beforeAll(async () => {
    const asking = { command: 'node', args: [fixturePath('asking-server')] };
    const [port] = (await freePorts(1)) as [number];
    const config = {
      timeouts: { human: patience },
      mcpServers: {
        stdio: asking,
        http: { ...asking, args: [...asking.args, String(port)], url: `http://127.0.0.1:${port}/mcp` },
        shared: { ...asking, isolation: 'shared' },
      },
    };
    if (shape === 'embedded') {
      const turnableGateway = await startGateway(shape, config, turnable);
      turn = () => turnByMinute(turnableGateway.edge);
      gateway = turnableGateway;
    } else gateway = await startGatewayHere(shape, config);
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) =>
      ['stdio', 'http', 'shared'].every((server) => names.includes(`${server}__elicit`)),
    );
  });

  afterAll(() => gateway[Symbol.asyncDispose]());

  it.each(['stdio', 'http', 'shared'])(
    'reaches the client whose call caused it and its answer reaches the server: %s',
    async (server) => {
      const client = await openClient(gateway.url, 'one');
      expect(await ask(client, `${server}__elicit`)).toContain('answered by one');
      expect(await ask(client, `${server}__sample`)).toContain('sampled by one');
      // Other users of a shared server would have these roots too, so they are not given.
      expect(await ask(client, `${server}__roots`)).toContain(
        server === 'shared' ? 'declared no capability' : 'file:///one',
      );
      await client.close();
    },
  );

  it.each(['stdio', 'http'])('never reaches another client, whatever runs at once: %s', async (server) => {
    const names = ['a', 'b', 'c', 'd'];
    const clients = await Promise.all(names.map((name) => openClient(gateway.url, name)));
    await Promise.all(
      clients.flatMap((client, index) =>
        [0, 1, 2, 3, 4].map(async () => {
          expect(await ask(client, `${server}__elicit`)).toContain(`answered by ${names[index]}`);
          expect(await ask(client, `${server}__roots`)).toContain(`file:///${names[index]}`);
        }),
      ),
    );
    for (const client of clients) await client.close();
  });

  it.each(['stdio', 'http'])(
    'is answered, once, even if the call in which it was asked has ended: %s',
    async (server) => {
      const client = new Client({ name: 'late', version: '1' }, { capabilities: { elicitation: {} } });
      const over = Promise.withResolvers<void>();
      const questions: unknown[] = [];
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        questions.push(params);
        await over.promise;
        return { action: 'accept', content: { answer: 'late' } };
      });
      await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
      expect(await ask(client, `${server}__ask`)).toContain('asked');
      await expect.poll(() => questions.length).toBe(1);
      over.resolve();
      expect(await ask(client, `${server}__told`)).toContain('late');
      expect(questions).toHaveLength(1);
      await client.close();
    },
  );

  it('is refused, naming the setting to change, if it is unknown which client of a shared server it belongs to', async () => {
    const [one, two] = [await openClient(gateway.url, 'one'), await openClient(gateway.url, 'two')];
    let waiting: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve) => {
      waiting = one.callTool({ name: 'shared__wait', arguments: {} }, undefined, { onprogress: () => resolve() });
    });
    expect(await ask(two, 'shared__elicit')).toContain('set \\"isolation: session\\" for it');
    await two.callTool({ name: 'shared__release', arguments: {} });
    await waiting;
    await one.close();
    await two.close();
  });

  it('is not asked of a client without capabilities, since the server is told so', async () => {
    using client = await RawClient.open(gateway.url);
    const answer = await client.callTool('stdio__elicit');
    expect(answer.body).toMatch(/does not support|declared no capability/);
  });

  // The clock of one process is turned; several would take each other for lost then, so the long lane waits.
  if (shape === 'embedded' || isLongLane)
    it('is answered in place of a client that takes too long, and withdrawn', async () => {
      const client = await RawClient.open(gateway.url, '2025-06-18', {}, { elicitation: {} });
      const messages: Message[] = [];
      await client.stream(
        { jsonrpc: '2.0', id: 'asking', method: 'tools/call', params: { name: 'http__elicit', arguments: {} } },
        async (message) => {
          messages.push(message);
          if (message.method === 'elicitation/create') await turn?.();
        },
      );
      expect(messages.map(({ method }) => method)).toEqual([
        'elicitation/create',
        'notifications/cancelled',
        undefined,
      ]);
      expect(messages[1]?.params?.['requestId']).toBe(messages[0]?.id);
      expect(JSON.stringify(messages[2]?.result)).toContain(`did not answer within ${patience.replace('s', ' s')}`);
      expect(
        (await client.post({ jsonrpc: '2.0', id: messages[0]?.id, result: { action: 'accept', content: {} } })).status,
      ).toBe(202);
    });

  it('is withdrawn when the client cancels the call', async () => {
    const client = new Client({ name: 'leaving', version: '1' }, { capabilities: { elicitation: {} } });
    const aborted = new Promise<void>((resolve) => {
      client.setRequestHandler(ElicitRequestSchema, (_request, { signal }) => {
        signal.addEventListener('abort', () => resolve());
        controller.abort('enough');
        return new Promise<never>(() => undefined);
      });
    });
    const controller = new AbortController();
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
    await expect(
      client.callTool({ name: 'http__elicit', arguments: {} }, undefined, { signal: controller.signal }),
    ).rejects.toThrow('enough');
    await aborted;
    await client.close();
  });
});
