/** Code mode in the running gateway: clients of every revision and both official SDKs, in both shapes. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { shapes } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, Upstream } from '../support/upstream.ts';

const info = { name: 'test', version: '1.0.0' };
const own = ['find_api', 'run_code'];
const asking = { command: 'node', args: [fixturePath('asking-server')] };
const weather = {
  name: 'city_forecast',
  description: 'The weather of the next days.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const found = `/** The weather of the next days. */\nservers.weather.city_forecast(args: { city: string }): Promise<any>`;
const textOf = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text: string }[] }).content[0]?.text ?? '';
const run = (code: string): JsonObject => ({ name: 'run_code', arguments: { code } });
const finds: JsonObject = { name: 'find_api', arguments: { query: 'weather', limit: 1 } };
const forecasts = run(`const cities: string[] = ['Bern', 'Oslo'];
return await Promise.all(cities.map((city) => servers.weather.city_forecast({ city })));`);
const forecast = ['city_forecast of Bern', 'city_forecast of Oslo'];
const elicits = run(`return await servers.asking.elicit();`);

describe.each(shapes)('%s', (shape) => {
  let gateway: GatewayHere;
  let upstream: Upstream;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-code-'));
    upstream = await Upstream.start({
      tools: [weather],
      onCall: (call) => {
        call.progress(1, 2);
        call.answer(text(`${call.name} of ${String(call.args['city'])}`));
      },
    });
    gateway = await startGatewayHere(shape, {
      listing: 'code',
      profiles: { all: { listing: 'full' } },
      mcpServers: { weather: { url: upstream.url }, asking },
      audit: { sinks: [{ kind: 'file', folder }] },
    });
    using waiting = await RawClient.open(`${gateway.url}/all`);
    await waiting.untilTools((names) => names.includes('weather__city_forecast') && names.includes('asking__elicit'));
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream.stop();
    await rm(folder, { recursive: true });
  });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a client of %s finds functions and runs code that calls them, with progress of all calls',
    async (revision) => {
      using client = await RawClient.open(gateway.url, revision);
      const { last } = await client.request('tools/list');
      expect((last.result?.['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(own);
      expect(textOf((await client.request('tools/call', finds)).last.result)).toBe(found);
      const { messages } = await client.request('tools/call', { ...forecasts, _meta: { progressToken: 'p' } });
      const steps = messages.filter(({ method }) => method === 'notifications/progress');
      expect(steps.map(({ params }) => params?.['progress'])).toEqual([1, 2, 3, 4]);
      expect(JSON.parse(textOf(messages.at(-1)?.result))).toEqual(forecast);
    },
  );

  it('a client of 2026-07-28 runs code whose call asks its user, and answers in a second round', async () => {
    const client = new ModernClient(gateway.url);
    expect(JSON.parse(textOf((await client.request('tools/call', forecasts)).last.result))).toEqual(forecast);
    const { result } = (await client.request('tools/call', elicits)).last;
    expect(result).toMatchObject({ resultType: 'input_required' });
    const [key] = Object.keys(result?.['inputRequests'] as object);
    const answered = await client.request('tools/call', {
      ...elicits,
      requestState: result?.['requestState'],
      inputResponses: { [key as string]: { action: 'accept', content: { answer: 'yes' } } },
    });
    expect(textOf(answered.last.result)).toContain('yes');
  });

  it('SDK 1.x and 2.x find functions, run code, and answer questions of its calls', async () => {
    const one = new ClientOne(info, { capabilities: { elicitation: {} } });
    one.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { answer: 'yes' } }));
    await one.connect(new TransportOne(new URL(gateway.url)));
    expect((await one.listTools()).tools.map(({ name }) => name)).toEqual(own);
    expect(textOf(await one.callTool(elicits as never))).toContain('yes');
    await one.close();
    const two = new ClientTwo(info, { versionNegotiation: { mode: 'auto' } });
    await two.connect(new TransportTwo(new URL(gateway.url)));
    expect((await two.listTools()).tools.map(({ name }) => name)).toEqual(own);
    expect(textOf(await two.callTool(finds as never))).toBe(found);
    expect(JSON.parse(textOf(await two.callTool(forecasts as never)))).toEqual(forecast);
    await two.close();
  });

  it('records name each call with its tool, and the run that they belong to', async () => {
    const client = new ModernClient(gateway.url);
    await client.request(
      'tools/call',
      run(`for (const city of ['A', 'B', 'C']) await servers.weather.city_forecast({ city });`),
    );
    const records = async (): Promise<readonly string[]> => {
      const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
      return files.flatMap((file) => file.split('\n'));
    };
    const runOf = (line: string | undefined): string | undefined => /"omnibus\.run":"([^"]+)"/.exec(line ?? '')?.[1];
    // The calls of a run are on record before it is.
    const ofLastRun = async (): Promise<readonly string[]> => {
      const all = await records();
      const run = runOf(all.findLast((line) => line.includes('"omnibus.calls":3') && line.includes('run_code')));
      return run === undefined ? [] : all.filter((line) => runOf(line) === run);
    };
    await expect.poll(async () => (await ofLastRun()).length).toBe(4);
    expect((await ofLastRun()).filter((line) => line.includes('"city_forecast"'))).toHaveLength(3);
  });
});
