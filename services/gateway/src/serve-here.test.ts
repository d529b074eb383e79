import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { auditLedger, setUpNats } from '@omnibus/bus';
import { FakeVault, startNatsServer } from '@omnibus/bus/testing';
import { serveHere, type ServedHere } from './serve-here.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-here-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Serves a configuration file. @returns the gateway, its output and its file. */
async function serve(
  name: string,
  config: object,
  env: Readonly<Record<string, string>> = {},
  more: Partial<Parameters<typeof serveHere>[0]> = {},
): Promise<{ readonly served: ServedHere; readonly log: string[]; readonly printed: string[]; readonly file: string }> {
  const file = join(folder, `${name}.json`);
  await writeFile(file, JSON.stringify(config));
  const [log, printed]: [string[], string[]] = [[], []];
  const served = await serveHere(
    { config: file, role: 'all', listen: '127.0.0.1:0', admin: '127.0.0.1:0', ...more },
    {
      env,
      log: { write: (line) => void log.push(line) },
      print: (text) => void printed.push(text),
      showPage: () => false,
    },
  );
  return { served, log, printed, file };
}

const listeners = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);

it('two gateways of one process have their own log, environment and addresses, and leave no listener of the process', async () => {
  const before = listeners();
  const [one, other] = await Promise.all([
    serve('one', { log: { level: '${LEVEL}' }, mcpServers: {} }, { LEVEL: 'warn' }),
    serve('other', { log: { level: '${LEVEL}' }, mcpServers: {} }, { LEVEL: 'info' }),
  ]);
  expect(one.served.endpoint).not.toBe(other.served.endpoint);
  expect(one.log).toEqual([]);
  expect(other.log.join('')).toContain('"msg":"ready"');
  expect(one.printed.join('')).toContain(one.served.endpoint);
  for (const { served } of [one, other]) expect((await fetch(`http://${served.adminAddress}/readyz`)).status).toBe(200);
  await one.served.stop();
  await expect(fetch(`http://${one.served.adminAddress}/readyz`)).rejects.toThrow();
  expect((await fetch(`http://${other.served.adminAddress}/readyz`)).status).toBe(200);
  await other.served.stop();
  expect(other.log.join('')).toContain('"msg":"stopped"');
  expect(listeners()).toBe(before);
});

it('a gateway follows its file', async () => {
  const { served, log, file } = await serve('followed', { mcpServers: {} });
  await writeFile(file, JSON.stringify({ mcpServers: {}, prefix: 'always' }));
  await expect.poll(() => log.join('')).toContain('the changed configuration is applied');
  await served.stop();
});

it('a gateway that stops takes no calls while it gives back its login at the secret store', async () => {
  await using vault = await FakeVault.start();
  vault.put('a', { level: 'info' });
  const { served } = await serve('store', {
    log: { level: '${vault:secret/a#level}' },
    secrets: { vault: { address: vault.address, appRole: vault.role } },
    mcpServers: {},
  });
  const answer = Promise.withResolvers<void>();
  vault.before = () => answer.promise;
  // The request to give it back waits as long as the store does.
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
  const stopped = served.stop();
  const isReached = (): Promise<boolean> =>
    fetch(`http://${served.adminAddress}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReached).toBe(false);
  answer.resolve();
  await stopped;
  expect(vault.tokens.size).toBe(0);
});

it('the error of a gateway that cannot start has all problems, and nothing is printed', async () => {
  const before = process.exitCode;
  await expect(serve('wrong', { listen: 'nowhere', mcpServers: 1 })).rejects.toThrow(
    /listen[\s\S]*\n[\s\S]*mcpServers/,
  );
  await expect(serve('reference', { listen: '${ADDRESS}', mcpServers: {} })).rejects.toThrow('ADDRESS');
  expect(process.exitCode).toBe(before);
});

/** A server on stdin and stdout with a tool that returns its process id. */
const program = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } },
    'tools/list': { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: String(process.pid) }] },
  };
  if (id !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(method in results ? { result: results[method] } : { error: { code: -32601, message: 'no' } }) }));
});`;

interface Answer {
  readonly result?: { readonly content?: readonly { readonly text: string }[]; readonly tools?: readonly object[] };
}

/** Opens a session at an edge. @returns sends a request in it. */
async function openAt(endpoint: string): Promise<(method: string, params?: object) => Promise<Answer>> {
  const post = async (message: object, headers: Readonly<Record<string, string>> = {}): Promise<[Response, string]> => {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    return [response, await response.text()];
  };
  const [{ headers }] = await post({
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  });
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
  await post({ method: 'notifications/initialized' }, session);
  return async (method, params = {}) => {
    const [, text] = await post({ id: 1, method, params }, session);
    return JSON.parse(
      text
        .split('\n')
        .findLast((line) => line.startsWith('data: {'))
        ?.slice(6) ?? text,
    ) as Answer;
  };
}

/** The value of a metric at one part, whatever its labels. */
async function countAt({ adminAddress }: ServedHere, metric: string): Promise<number> {
  const text = await (await fetch(`http://${adminAddress}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${metric}{`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

it('two parts of each role in one process count their own calls, and one that stops ends only its own servers', async () => {
  const before = listeners();
  await using nats = await startNatsServer();
  const setUp = await setUpNats(
    { servers: nats.url, clientName: 'setup', connectTimeoutMs: 10_000 },
    { ...auditLedger, maxAgeMs: 86_400_000, maxBytes: 64 * 1024 * 1024 },
  );
  expect(setUp.filter(({ did }) => did === 'failed')).toEqual([]);
  const config = { mcpServers: { p: { command: 'node', args: ['-e', program] } } };
  const env = { ...process.env, OMNIBUS_SEALING_KEY: randomBytes(32).toString('base64') } as Record<string, string>;
  const started = async (role: 'backend' | 'session' | 'edge'): Promise<ServedHere[]> => {
    const pair = ['one', 'two'].map((name) =>
      serve(`${role}-${name}`, config, env, { role, bus: nats.url, input: false }),
    );
    return (await Promise.all(pair)).map(({ served }) => served);
  };
  const [backends, workers, edges] = [await started('backend'), await started('session'), await started('edge')];
  const open = (at: number): ReturnType<typeof openAt> => openAt(edges[at]?.endpoint ?? '');
  const pidOf = async (ask: Awaited<ReturnType<typeof openAt>>): Promise<number> =>
    Number((await ask('tools/call', { name: 'pid' })).result?.content?.[0]?.text);
  await expect.poll(async () => (await (await open(0))('tools/list')).result?.tools?.length).toBe(1);

  const pids = new Set<number>();
  let calls = 0;
  for (; pids.size < 2 || calls < 4; calls += 1) pids.add(await pidOf(await open(calls % 2)));
  const counts = await Promise.all(backends.map((backend) => countAt(backend, 'omnibus_tool_calls_total')));
  expect([counts.every((count) => count > 0), counts.reduce((sum, count) => sum + count)]).toEqual([true, calls]);

  for (const [first] of [backends, workers, edges]) await first?.stop();
  const isThere = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const left = [...pids].filter(isThere);
  expect(left).toHaveLength(1);
  expect(await pidOf(await open(1))).toBe(left[0]);
  for (const [, second] of [backends, workers, edges])
    expect((await fetch(`http://${second?.adminAddress}/readyz`)).status).toBe(200);
  for (const [, second] of [edges, workers, backends]) await second?.stop();
  expect([[...pids].filter(isThere), listeners()]).toEqual([[], before]);
});
