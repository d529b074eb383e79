/** Common client libraries. Each initializes, lists, calls, answers a question, reads, and reports what it received. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { root } from '../support/processes.ts';
import { goClient, pythonSdks, rustPrograms, type Making } from './toolchains.ts';

/** The report of a client. */
interface Told {
  readonly revision: string | undefined;
  readonly tools: readonly string[];
  readonly said: string;
  /** The result of the tool that asked the user. */
  readonly asked: string;
  readonly read: string;
  readonly prompt: string;
  /** The result of the tool whose server closes the stream before it answers; empty if the client could not resume it, left out by clients that did not call it. */
  readonly resumed?: string;
}

export interface ClientLibrary {
  readonly name: string;
  readonly needs?: readonly Making[];
  use(url: string): Promise<Told>;
}

const info = { name: 'client', version: '1' };
const accepted = { action: 'accept' as const, content: { username: 'a person', email: 'a@example.com' } };
const asking = { name: 'test_elicitation', arguments: { message: 'Who are you?' } };

const firstText = (result: object): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

/** The common interface of both TypeScript clients. */
interface Common {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<object>;
  readResource(params: { uri: string }): Promise<{ contents: object[] }>;
  getPrompt(params: { name: string }): Promise<{ messages: { content: object }[] }>;
  close(): Promise<void>;
}

async function use(client: Common, revision: string | undefined): Promise<Told> {
  const told = {
    revision,
    tools: (await client.listTools()).tools.map(({ name }) => name),
    said: firstText(await client.callTool({ name: 'test_simple_text', arguments: {} })),
    asked: firstText(await client.callTool(asking)),
    read: ((await client.readResource({ uri: 'test://static-text' })).contents[0] as { text: string }).text,
    prompt: ((await client.getPrompt({ name: 'test_simple_prompt' })).messages[0]?.content as { text: string }).text,
  };
  await client.close();
  return told;
}

async function typescriptOne(url: string): Promise<Told> {
  const client = new ClientOne(info, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  const transport = new TransportOne(new URL(url));
  await client.connect(transport);
  return use(client, transport.protocolVersion);
}

async function typescriptTwo(url: string, mode: 'legacy' | 'auto'): Promise<Told> {
  const client = new ClientTwo(info, {
    capabilities: { elicitation: { form: {} } },
    ...(mode === 'auto' ? { versionNegotiation: { mode } } : {}),
  });
  client.setRequestHandler('elicitation/create', () => accepted);
  await client.connect(new TransportTwo(new URL(url)));
  return use(client, client.getNegotiatedProtocolVersion());
}

/** Runs a program that prints its report. @throws {Error} with its output when it fails. */
async function program(command: string, args: readonly string[]): Promise<Told> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
  const ended = once(child, 'close');
  const [heard, complaint, [status]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (!heard.startsWith('{') || status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${heard}${complaint}`);
  return JSON.parse(heard) as Told;
}

export const clientLibraries: readonly ClientLibrary[] = [
  { name: 'TypeScript SDK 1.x', use: typescriptOne },
  { name: 'TypeScript SDK 2.x with sessions', use: (url) => typescriptTwo(url, 'legacy') },
  { name: 'TypeScript SDK 2.x', use: (url) => typescriptTwo(url, 'auto') },
  ...(['legacy', 'auto'] as const).map((mode) => ({
    name: mode === 'auto' ? 'Python SDK' : 'Python SDK with sessions',
    needs: [pythonSdks],
    use: (url: string) => program(pythonSdks.python, [join(root, 'test/direct/python/client.py'), url, mode]),
  })),
  { name: 'Go SDK', needs: [goClient], use: (url) => program(goClient.program, [url]) },
  ...(['legacy', 'auto'] as const).map((mode) => ({
    name: mode === 'auto' ? 'Rust SDK' : 'Rust SDK with sessions',
    needs: [rustPrograms],
    use: (url: string) => program(rustPrograms.program('client'), [url, mode]),
  })),
];
