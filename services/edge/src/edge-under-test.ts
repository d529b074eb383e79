/** An edge on a bus of its own, whose session worker is what a test says. */
import { expect } from 'vitest';
import { MemoryBus, subjects, type BusFault } from '@omnibus/bus';
import { loadConfig, type Config } from '@omnibus/config';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { latestLegacyRevision, newSessionId, newWorkerId, type SessionCommand, type StreamFrame } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Edge } from './edge.ts';
import { RequestMeter } from './requests/request-meter.ts';

export const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: latestLegacyRevision, capabilities: {}, clientInfo: { name: 'test', version: '1' } } };

export function configOf(text: string): Config {
  const loaded = loadConfig({ file: 'omnibus.yaml', text, env: {}, readFile: () => '' });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

export class EdgeUnderTest implements AsyncDisposable {
  readonly faults: BusFault[] = [];
  readonly bus = new MemoryBus((fault) => this.faults.push(fault));
  readonly edge: Edge;
  url = '';

  private constructor(text: string) {
    const config = configOf(text);
    const metrics = new Metrics({ processMetrics: false });
    const log = createLogger({ level: 'silent', format: 'json' });
    const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
    this.edge = new Edge({ config, bus: this.bus, wheel, log, metrics, meter: new RequestMeter(metrics, undefined) });
  }

  /** @param text of the configuration, besides the address. */
  static async start(text = ''): Promise<EdgeUnderTest> {
    const test = new EdgeUnderTest(`listen: 127.0.0.1:0\n${text}`);
    test.url = await test.edge.start();
    return test;
  }

  /** From now on there is a session worker. @param receive what it does with the commands of sessions. */
  async serve(receive: (command: SessionCommand, reply: (frame: StreamFrame) => void) => void): Promise<void> {
    const worker = newWorkerId('session');
    await this.bus.subscribe(subjects.sessionOpen(undefined), (_command, reply) => reply({ kind: 'opened', session: newSessionId(), worker, text: '{"jsonrpc":"2.0","id":1,"result":{}}' }));
    await this.bus.subscribe(subjects.session(worker), ({ command }, reply) => receive(command, reply));
  }

  post(message: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: JSON.stringify(message) });
  }

  /** Begins a session. @returns the headers of its requests. */
  async open(revision: string = latestLegacyRevision): Promise<Readonly<Record<string, string>>> {
    const response = await this.post(initialize);
    await response.text();
    return { 'mcp-session-id': response.headers.get('mcp-session-id') as string, 'mcp-protocol-version': revision };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.edge.stop();
    await this.bus.drain();
  }
}
