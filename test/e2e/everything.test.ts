/** The official reference server: every tool, prompt and resource of it, through the gateway. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { createRequire } from 'node:module';
import { Heard } from '@omnibus/bus/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

describe.each(shapesOfLane)('everything of the reference server, %s', (shape) => {
  let gateway: GatewayHere;
  let client: Client;
  const toured = new Set<string>();
  const changed = new Heard<unknown>();
  const logged = new Heard<unknown>();
  const updated = new Heard<string>();
  const completed = new Heard<string>();
  const asked = new Heard<string>();

  beforeAll(async () => {
    gateway = await startGatewayHere(shape, {
      mcpServers: { everything: { command: 'node', args: [program, 'stdio'] } },
    });
    client = new Client(
      { name: 'tourist', version: '1' },
      { capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } } },
    );
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
      asked.add('sampling');
      return {
        role: 'assistant',
        content: { type: 'text', text: `sampled ${JSON.stringify(params.messages.at(-1)?.content)}` },
        model: 'none',
      };
    });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.add('elicitation');
      if (params.mode === 'url') return { action: 'accept' };
      const { properties } = params.requestedSchema;
      const fill = (field: object): string | number | boolean => {
        const { type, enum: choices, oneOf } = field as { type: string; enum?: string[]; oneOf?: { const: string }[] };
        return (
          choices?.[0] ??
          oneOf?.[0]?.const ??
          (type === 'boolean' ? true : type === 'string' ? 'given@example.com' : 42)
        );
      };
      return {
        action: 'accept',
        content: Object.fromEntries(
          Object.entries(properties)
            .filter(([name]) => params.requestedSchema.required?.includes(name))
            .map(([name, field]) => [name, fill(field)]),
        ),
      };
    });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///tour', name: 'tour' }] }));
    client.setNotificationHandler(ToolListChangedNotificationSchema, changed.add);
    client.setNotificationHandler(LoggingMessageNotificationSchema, logged.add);
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated.add(params.uri));
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
      completed.add(params.elicitationId),
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
    // The server has tools for clients with certain capabilities; they are listed after such a client has connected.
    await call('echo', { message: 'hello' });
    for (let count = 1; !(await names()).includes('trigger-sampling-request'); count += 1) await changed.until(count);
  });

  afterAll(async () => {
    await client.close();
    await gateway[Symbol.asyncDispose]();
  });

  const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);

  async function call(name: string, args: Record<string, unknown> = {}): Promise<string> {
    toured.add(name);
    const result = await client.callTool({ name, arguments: args }, CallToolResultSchema);
    expect(result.isError, JSON.stringify(result)).not.toBe(true);
    return JSON.stringify(result);
  }

  it('simple tools', async () => {
    expect(await call('echo', { message: 'hello' })).toContain('Echo: hello');
    expect(await call('get-sum', { a: 2, b: 3 })).toContain('5');
    expect(await call('get-env')).toContain('PATH');
    expect(await call('get-tiny-image')).toContain('image/png');
    expect(await call('get-annotated-message', { messageType: 'error', includeImage: true })).toContain('annotations');
    expect(await call('get-structured-content', { location: 'Chicago' })).toContain('structuredContent');
    expect(await call('get-resource-reference', { resourceType: 'Text', resourceId: 1 })).toContain(
      'demo://resource/dynamic/text/1',
    );
  });

  it('resource links, and the resources they name', async () => {
    const links = JSON.parse(await call('get-resource-links', { count: 2 })) as {
      content: { type: string; uri?: string }[];
    };
    for (const { uri } of links.content.filter(({ type }) => type === 'resource_link'))
      expect((await client.readResource({ uri: uri as string })).contents).toHaveLength(1);
    const zipped = JSON.parse(
      await call('gzip-file-as-resource', {
        name: 'tour.gz',
        data: 'data:text/plain,tour',
        outputType: 'resourceLink',
      }),
    ) as { content: { uri?: string }[] };
    const { uri } = zipped.content.find((block) => block.uri !== undefined) as { uri: string };
    expect((await client.readResource({ uri })).contents[0]).toHaveProperty('blob');
  });

  it('progress', async () => {
    toured.add('trigger-long-running-operation');
    const heard: number[] = [];
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
      CallToolResultSchema,
      { onprogress: ({ progress }) => heard.push(progress) },
    );
    expect(heard).toEqual([1, 2, 3, 4]);
  });

  it('questions to its client', async () => {
    expect(await call('trigger-sampling-request', { prompt: 'tell me', maxTokens: 10 })).toContain('sampled');
    expect(await call('trigger-elicitation-request')).toMatch(/provided|accept/i);
    // The server asks for roots at some time after the handshake, when no call may be open on which it could ask.
    let heard = '';
    while (!heard.includes('file:///tour')) heard = await call('get-roots-list');
    expect(await call('trigger-url-elicitation', { url: 'https://example.com/tour', elicitationId: 'tour' })).toMatch(
      /accept|complet/i,
    );
    expect(asked.values).toEqual(['sampling', 'elicitation', 'elicitation']);
    expect(completed.values.every((id) => id === 'everything:tour')).toBe(true);
  });

  it('a task that needs an answer before it can go on', async () => {
    toured.add('simulate-research-query');
    const seen: string[] = [];
    for await (const message of client.experimental.tasks.callToolStream(
      { name: 'simulate-research-query', arguments: { topic: 'gateways', ambiguous: true } },
      CallToolResultSchema,
      { task: { ttl: 60_000 } },
    )) {
      if (message.type === 'error') throw message.error;
      seen.push(message.type === 'taskStatus' ? message.task.status : message.type);
      if (message.type === 'result') expect(JSON.stringify(message.result)).toContain('gateways');
    }
    expect(seen[0]).toBe('taskCreated');
    expect(seen).toContain('input_required');
    expect(seen.at(-1)).toBe('result');
  });

  it('prompts and completion', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual([
      'simple-prompt',
      'args-prompt',
      'completable-prompt',
      'resource-prompt',
    ]);
    const args: Record<string, Record<string, string>> = {
      'args-prompt': { city: 'Paris' },
      'completable-prompt': { department: 'Engineering', name: 'Alice' },
      'resource-prompt': { resourceType: 'Text', resourceId: '1' },
    };
    for (const { name } of prompts)
      expect((await client.getPrompt({ name, arguments: args[name] ?? {} })).messages.length).toBeGreaterThan(0);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    });
    expect(completion.values).toContain('Engineering');
  });

  it('resources and their updates', async () => {
    const { resources } = await client.listResources();
    expect(resources.length).toBeGreaterThanOrEqual(7);
    for (const { uri } of resources) expect((await client.readResource({ uri })).contents).toHaveLength(1);
    const { resourceTemplates } = await client.listResourceTemplates();
    for (const { uriTemplate } of resourceTemplates)
      expect((await client.readResource({ uri: uriTemplate.replace('{resourceId}', '3') })).contents).toHaveLength(1);
    const watched = 'demo://resource/dynamic/text/1';
    await client.subscribeResource({ uri: watched });
    await call('toggle-subscriber-updates');
    expect((await updated.until(1))[0]).toBe(watched);
    await call('toggle-subscriber-updates');
    await client.unsubscribeResource({ uri: watched });
  });

  it('log messages that belong to no request', async () => {
    await client.setLoggingLevel('debug');
    await call('toggle-simulated-logging');
    await logged.until(1);
    await call('toggle-simulated-logging');
  });

  it('every feature was tested', async () => {
    expect([...toured].sort()).toEqual((await names()).sort());
  });
});
