/**
 * Pages of servers (MCP Apps) behind the endpoint of all servers: servers on the published package, the official client and bridge of a host, and a page that
 * runs in Chromium.
 */
import { AppBridge, getToolUiResourceUri, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge';
import {
  Client,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '@omnibus/protocol';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { chromiumPath, launch } from '../support/chromium.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath } from '../support/processes.ts';
import { tool, Upstream } from '../support/upstream.ts';

const extension = 'io.modelcontextprotocol/ui';
const settings = { mimeTypes: [RESOURCE_MIME_TYPE] };
const info = { name: 'host', version: '1' };
const appsServer = (name: string): object => ({ command: 'node', args: [fixturePath('apps-server'), name] });

/** Carries messages between the bridge of the host and a page in a sandboxed frame. */
class FrameTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async start(): Promise<void> {
    await this.#page.exposeFunction('toHost', (message: JSONRPCMessage) => this.onmessage?.(message));
    await this.#page.evaluate("window.addEventListener('message', ({ data }) => window.toHost(data))");
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#page.evaluate(
      `document.querySelector('iframe').contentWindow.postMessage(${JSON.stringify(message)}, '*')`,
    );
  }

  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }
}

/** The page of a tool after a call of a tool of its server. */
async function shownBy(client: Client, page: Page, name: string): Promise<string> {
  const { tools } = await client.listTools();
  const found = tools.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  await client.callTool({ name, arguments: {} });
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(found) as string });
  const html = (contents[0] as { readonly text: string }).text;
  const bridge = new AppBridge(client, info, { serverTools: {} });
  await page.setContent('<body></body>');
  await bridge.connect(new FrameTransport(page));
  await page.evaluate(`const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.srcdoc = ${JSON.stringify(html)};
    document.body.append(frame);`);
  const said = page.frameLocator('iframe').locator('#said');
  await said.filter({ hasText: 'refreshed' }).waitFor();
  return said.innerText();
}

it.runIf(chromiumPath !== undefined)(
  'pages of two servers with one address run in a browser, and each calls a tool of its own server by its own name',
  async () => {
    await using gateway = await startGatewayHere('embedded', {
      mcpServers: { one: appsServer('first'), two: appsServer('second') },
    });
    const browser = await launch();
    for (const [name, words] of [
      ['one__show', 'refreshed by first'],
      ['two__show', 'refreshed by second'],
    ] as const) {
      const client = new Client(info, { capabilities: { extensions: { [extension]: settings } } });
      await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
      expect(await shownBy(client, await browser.newPage(), name)).toBe(words);
      await client.close();
    }
    await browser.close();
  },
);

it('a server is told of the extension and its settings by each client that has it, and shows others what they can use', async () => {
  await using gateway = await startGatewayHere('embedded', { mcpServers: { one: appsServer('first') } });
  const names = async (capabilities: JsonObject): Promise<readonly string[]> => {
    const client = new Client(info, { capabilities });
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name, description = '' }) => `${name} ${description}`);
  };
  const plain = ['show shows the page', 'refresh for the page'];
  const whole = [...plain, `chart ${JSON.stringify(settings)}`];
  await expect.poll(() => names({})).toEqual(plain);
  await expect.poll(() => names({ extensions: { [extension]: settings } })).toEqual(whole);
  expect(await names({ sampling: {}, extensions: { [extension]: settings } })).toEqual(whole);
  expect(await names({})).toEqual(plain);
  const client = new Client(info, { capabilities: { extensions: { [extension]: settings } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
  expect(await client.callTool({ name: 'chart', arguments: {} })).toMatchObject({
    content: [{ text: 'drawn by first' }],
  });
  await client.close();
});

it('extensions that nobody here knows pass with their settings in both directions, to servers that have them', async () => {
  const initialized: JsonObject[] = [];
  const declared = { 'com.example/maps': { zoom: 3 }, [extension]: { pages: 2 } };
  await using server = await Upstream.start({
    tools: [tool('act')],
    capabilities: { extensions: declared },
    onInitialize: (params) => void initialized.push(params['capabilities'] as JsonObject),
  });
  await using other = await Upstream.start({ tools: [tool('plain')] });
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { maps: { url: server.url }, other: { url: other.url } },
  });
  const mine = { 'com.example/maps': { mine: true } };
  const client = new Client(info, { capabilities: { extensions: { ...mine, 'com.example/other': {} } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
  expect(client.getServerCapabilities()?.extensions).toEqual(declared);
  await client.callTool({ name: 'maps__act', arguments: {} });
  await client.close();
  expect(initialized).toContainEqual({ extensions: mine });
});
