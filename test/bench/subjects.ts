/** What is measured: each way to stand between a client and the upstream, started and ready. */
import { join } from 'node:path';
import { startGateway, type Shape } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { root, startProcess, type RunningProcess } from '../support/processes.ts';

export interface Measured {
  readonly name: string;
  readonly url: string;
  /** The processes whose processor time is counted. NATS itself is not ours and is not counted. */
  readonly pids: readonly number[];
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  [Symbol.asyncDispose](): Promise<void>;
}

const program = (name: string): string => join(root, 'test/dist/bench/processes', `${name}.js`);

async function startListening(name: string, args: readonly string[]): Promise<{ readonly running: RunningProcess; readonly url: string }> {
  const running = startProcess('node', [program(name), ...args]);
  const [, url] = (await running.line(/^listening (.+)$/)) as unknown as [string, string];
  return { running, url };
}

export async function startUpstream(toolsPerServer: number): Promise<Measured> {
  const { running, url } = await startListening('upstream', [String(toolsPerServer)]);
  return { name: 'upstream', url, pids: [running.pid], [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

export async function startThinProxy(upstream: string): Promise<Measured> {
  const { running, url } = await startListening('thin-proxy', [upstream]);
  return { name: 'thin proxy', url, pids: [running.pid], [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

export async function startOmnibus(shape: Shape, mcpServers: object): Promise<Measured> {
  const gateway = await startGateway(shape, { mcpServers, log: { level: 'info', format: 'json' } });
  return {
    name: shape === 'embedded' ? 'omnibus, one process' : 'omnibus, three processes over NATS',
    url: gateway.url,
    pids: gateway.processes.map(({ pid }) => pid),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** The same where callers are known, by an API key, and with limits that nobody reaches. */
export async function startKnowing(shape: Shape, mcpServers: object, limits: object = {}): Promise<Measured> {
  const keys = await Keys.make('bench');
  const gateway = await startGateway(shape, { mcpServers, auth: keys.auth, limits, log: { level: 'info', format: 'json' } });
  return {
    name: `${shape === 'embedded' ? 'one process' : 'over NATS'}, known caller${'rules' in limits ? ' with a limit' : ''}`,
    url: gateway.url,
    headers: keys.headersOf('bench'),
    pids: gateway.processes.map(({ pid }) => pid),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await keys[Symbol.asyncDispose]();
    },
  };
}

export const stdioUpstream = { command: 'node', args: [program('stdio-upstream')] };
