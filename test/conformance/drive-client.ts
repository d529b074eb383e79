/**
 * The steps of the client scenarios of the conformance suite: a gateway in front of the suite's own server, and a client of the gateway that uses what it finds.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGatewayHere } from '../support/gateway-here.ts';
import type { Started } from './driver.ts';

type Arguments = Readonly<Record<string, unknown>>;

export async function driveClient(
  { url, scenario, revision, context }: Started,
  print: (line: string) => void,
): Promise<void> {
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { suite: { url, restart: { minDelay: '50ms' } } },
  });
  const client = new Client(
    { name: 'driver', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      ...(revision === '2026-07-28' ? { versionNegotiation: { mode: 'auto' } } : {}),
    },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
  const { tools } = await client.listTools();
  /** Arguments for known tools of the scenarios' servers. */
  const known: Record<string, Arguments> = {
    add_numbers: { a: 5, b: 3 },
    json_schema_echo: { schema: tools.find(({ name }) => name !== 'json_schema_echo')?.inputSchema },
  };
  /** The arguments that the suite demands for each tool, where it does. */
  const { toolCalls } = JSON.parse(context) as {
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: Arguments }[];
  };
  for (const call of toolCalls ?? tools.map(({ name }) => ({ name, arguments: known[name] ?? {} })))
    await client.callTool({ ...call }).catch((error: unknown) => print(`${scenario}: ${call.name}: ${String(error)}`));
  const capabilities = client.getServerCapabilities();
  if (capabilities?.resources !== undefined)
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
  if (capabilities?.prompts !== undefined)
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  await client.close();
}
