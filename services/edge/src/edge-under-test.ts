/** An edge on its own bus, with a session worker that a test controls. */
import { expect } from 'vitest';
import type { Audit } from '@omnibus/audit';
import { MemoryBus, subjects, type BusFault } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { Authenticator, type TlsFiles } from '@omnibus/identity';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  latestLegacyRevision,
  modernRevisions,
  newSessionId,
  newWorkerId,
  type Caller,
  type SessionCommand,
  type StreamFrame,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import type { Callers } from './callers/callers.ts';
import { openCallers } from './callers/open-callers.ts';
import { Edge } from './edge.ts';
import { EdgeRecords } from './requests/records.ts';
import { RequestMeter } from './requests/request-meter.ts';

export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: latestLegacyRevision, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

const [modernRevision] = modernRevisions as readonly [string];
const _meta = {
  'io.modelcontextprotocol/protocolVersion': modernRevision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Knows callers by the issuers of the configuration. */
export function byIssuers({ auth, publicUrl }: Config): Promise<Authenticator> {
  if (auth === undefined || auth === 'none') throw new Error('there is no auth');
  const { issuers, audience, scopes } = auth;
  return Authenticator.open({ issuers, resource: { publicUrl, audience, scopes }, warn: () => undefined });
}

export interface UnderTestOptions {
  /** Left out where callers need not be known. */
  readonly authenticate?: (config: Config) => Promise<Authenticator>;
  readonly tls?: TlsFiles;
  /** Default: a port of 127.0.0.1. */
  readonly listen?: string;
  readonly audit?: Audit;
}

export class EdgeUnderTest implements AsyncDisposable {
  readonly faults: BusFault[] = [];
  readonly bus = new MemoryBus((fault) => this.faults.push(fault));
  readonly metrics = new Metrics({ processMetrics: false });
  readonly edge: Edge;
  readonly callers: Callers;
  readonly #authenticator: Authenticator | undefined;
  url = '';

  private constructor(config: Config, authenticator: Authenticator | undefined, { tls, audit }: UnderTestOptions) {
    const { metrics } = this;
    const log = createLogger({ level: 'silent', format: 'json' });
    const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
    this.#authenticator = authenticator;
    const watcher = audit === undefined ? undefined : new EdgeRecords(audit, undefined);
    this.callers = openCallers({ config, wheel, authenticator, watcher });
    this.edge = new Edge({
      config,
      bus: this.bus,
      wheel,
      log,
      metrics,
      meter: new RequestMeter(metrics, undefined),
      callers: this.callers,
      tls,
      watcher,
    });
  }

  /** @param text of the configuration, without the address. */
  static async start(text = '', options: UnderTestOptions = {}): Promise<EdgeUnderTest> {
    const { authenticate, listen = '127.0.0.1:0' } = options;
    const config = configOf(`listen: ${JSON.stringify(listen)}\n${text}`);
    const test = new EdgeUnderTest(config, await authenticate?.(config), options);
    test.url = await test.edge.start();
    return test;
  }

  /** Where the edge listens, without a path. */
  get origin(): string {
    return this.url.replace(/\/mcp$/, '');
  }

  /** From now on there is a session worker. @param receive handles the commands of sessions. */
  async serve(receive: (command: SessionCommand, reply: (frame: StreamFrame) => void) => void): Promise<void> {
    const worker = newWorkerId('session');
    await this.bus.subscribe(subjects.sessionOpen(undefined), (_command, reply) =>
      reply({ kind: 'opened', session: newSessionId(), worker, text: '{"jsonrpc":"2.0","id":1,"result":{}}' }),
    );
    await this.bus.subscribe(subjects.session(worker), ({ command }, reply) => receive(command, reply));
  }

  /** From now on requests without a session are answered; subscriptions are acknowledged and stay open. @returns their callers. */
  async serveStateless(): Promise<readonly Caller[]> {
    const callers: Caller[] = [];
    await this.bus.subscribe(subjects.modern(undefined), ({ caller, request }, reply) => {
      callers.push(caller);
      if (request.method !== 'subscriptions/listen')
        reply({
          kind: 'message',
          text: JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }),
          isAnswer: true,
          sequence: undefined,
          last: true,
        });
      else
        reply({
          kind: 'message',
          text: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {} }),
          isAnswer: false,
          sequence: undefined,
          last: false,
        });
    });
    return callers;
  }

  /** Posts a request that needs no session. */
  postStateless(headers: Readonly<Record<string, string>>, path = '/mcp', method = 'tools/list'): Promise<Response> {
    return fetch(`${this.origin}${path}`, { method: 'POST', ...this.stateless(headers, method) });
  }

  /** The headers and the body of a request that needs no session. */
  stateless(
    headers: Readonly<Record<string, string>>,
    method: string,
  ): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
    return {
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...(method === 'subscriptions/listen' ? { notifications: {} } : {}), _meta },
      }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': modernRevision,
        'mcp-method': method,
        ...headers,
      },
    };
  }

  post(message: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify(message),
    });
  }

  /** Begins a session. @returns the headers of its requests. */
  async open(revision: string = latestLegacyRevision): Promise<Readonly<Record<string, string>>> {
    const response = await this.post(initialize);
    await response.text();
    return { 'mcp-session-id': response.headers.get('mcp-session-id') as string, 'mcp-protocol-version': revision };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.edge.stop();
    await this.#authenticator?.close();
    await this.bus.drain();
  }
}
