import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryBus, subjects, type BusFault } from '@omnibus/bus';
import { loadConfig } from '@omnibus/config';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Edge } from './edge.ts';
import { RequestMeter } from './request-meter.ts';

let bus: MemoryBus;
let edge: Edge;
let url: string;
let faults: BusFault[];

beforeEach(async () => {
  faults = [];
  bus = new MemoryBus((fault) => faults.push(fault));
  const loaded = loadConfig({ file: 'omnibus.yaml', text: 'listen: 127.0.0.1:0\nsecurity: { trustedProxies: [127.0.0.0/8] }', env: {}, readFile: () => '' });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  const metrics = new Metrics({ processMetrics: false });
  const log = createLogger({ level: 'silent', format: 'json' });
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  edge = new Edge({ config: loaded.config, bus, wheel, log, metrics, meter: new RequestMeter(metrics, undefined) });
  url = await edge.start();
});

afterEach(async () => {
  await edge.stop();
  await bus.drain();
});

async function post(message: object, headers: Record<string, string> = {}): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: JSON.stringify(message) });
  return { status: response.status, body: await response.json() };
}

const broken = (): never => {
  throw new Error('a bug');
};
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } } };
const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };
const modern = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } };

it.each([
  ['initialize', () => bus.subscribe(subjects.sessionOpen(undefined), broken), () => post(initialize)],
  ['a request without a session', () => bus.subscribe(subjects.modern(undefined), broken), () => post(modern, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' })],
  ['a request without a session, later', () => bus.subscribe(subjects.modern(undefined), async () => {
    await Promise.resolve();
    broken();
  }), () => post(modern, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' })],
])('a bug in the worker that takes %s is answered internal.error, with the name the log has it under', async (_what, breaks, ask) => {
  await breaks();
  const answer = await ask();
  expect(faults).toMatchObject([{ kind: 'handler', error: new Error('a bug') }]);
  expect(answer).toMatchObject({ status: 500, body: { jsonrpc: '2.0', id: 1, error: { code: -32603, data: { reason: 'internal.error', retry: 'unknown-outcome', incident: faults[0]?.incident } } } });
});

it('a request without a session says where its client is, when that is known', async () => {
  const origins: unknown[] = [];
  await bus.subscribe(subjects.modern(undefined), ({ caller }, reply) => {
    origins.push(caller.origin);
    reply({ kind: 'message', text: JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }), isAnswer: true, sequence: undefined, last: true });
  });
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  await post(modern, { ...headers, 'x-forwarded-for': '198.51.100.7' });
  await post(modern, headers);
  expect(origins).toEqual(['198.51.100.7', undefined]);
});
