/** The measured gateways and proxies between a client and the upstream server, started and ready. */
import { join } from 'node:path';
import { startGateway, type Shape } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { root, startProcess, type RunningProcess } from '../support/processes.ts';

export interface Measured {
  readonly name: string;
  readonly url: string;
  /** The processes with counted processor time. That of NATS does not count. */
  readonly pids: readonly number[];
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Which tools are called; default: all. */
  readonly tools?: 'only reading' | 'writing';
  /** Begins what lasts for each round; disposing of the result ends it. */
  readonly during?: () => Promise<AsyncDisposable>;
  [Symbol.asyncDispose](): Promise<void>;
}

const program = (name: string): string => join(root, 'test/dist/bench/processes', `${name}.js`);

async function startListening(
  name: string,
  args: readonly string[],
): Promise<{ readonly running: RunningProcess; readonly url: string }> {
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

/** @param more of the configuration. */
export async function startOmnibus(shape: Shape, mcpServers: object, more: object = {}): Promise<Measured> {
  const gateway = await startGateway(shape, { mcpServers, ...more, log: { level: 'info', format: 'json' } });
  return {
    name: shape === 'embedded' ? 'omnibus, one process' : 'omnibus, three processes over NATS',
    url: gateway.url,
    pids: gateway.processes.map(({ pid }) => pid),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/**
 * One gateway three times: twice without a watch, to measure the noise, and once with a watch of some calls, as in the console. Two gateways
 * that were started alike may differ by more than a watch costs.
 * @param query of `/api/v1/watch`.
 */
export async function startWatched(shape: Shape, mcpServers: object, query: string): Promise<Measured[]> {
  const gateway = await startGateway(shape, { mcpServers, log: { level: 'info', format: 'json' } });
  const address = `http://${await gateway.admin(gateway.edge)}/api/v1/watch?topics=calls&${query}`;
  const base = {
    url: gateway.url,
    pids: gateway.processes.map(({ pid }) => pid),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const watch = async (): Promise<AsyncDisposable> => {
    const stop = new AbortController();
    const response = await fetch(address, { signal: stop.signal });
    const reading = response.body?.pipeTo(new WritableStream(), { signal: stop.signal }).catch(() => undefined);
    return {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await reading;
      },
    };
  };
  return [
    { ...base, name: 'nobody watches', [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() },
    { ...base, name: 'the same again' },
    { ...base, name: 'one watches a filter', during: watch },
  ];
}

/** Checks of callers beyond a key; none of them refuses anything in a measurement. */
const rules = {
  access: {
    default: 'deny',
    rules: [
      { id: 'bench', who: 'key:bench', allow: ['s0'] },
      ...Array.from({ length: 49 }, (_, index) => ({
        id: `group-${index}`,
        who: `group:g${index}`,
        allow: [`s0/tool-${index}`],
      })),
      ...Array.from({ length: 50 }, (_, index) => ({
        id: `never-${index}`,
        who: 'everyone',
        deny: [`s0/delete_${index}_*`],
      })),
    ],
  },
};
const limits = { limits: { rules: [{ rate: '1000000/s', concurrency: 1_000_000 }] } };

/**
 * Gateways with API keys, each of which does more than the one before it. The cost of a record is measured in one gateway, which records calls of tools that write and
 * not of those that only read: two that were started alike may differ by more than that.
 */
export async function startKnowing(shape: Shape, mcpServers: object, stack: AsyncDisposableStack): Promise<Measured[]> {
  const keys = stack.use(await Keys.make('bench'));
  const start = async (demand: object): Promise<Omit<Measured, 'name'>> => {
    const gateway = stack.use(
      await startGateway(shape, { mcpServers, auth: keys.auth, ...demand, log: { level: 'info', format: 'json' } }),
    );
    return {
      url: gateway.url,
      headers: keys.headersOf('bench'),
      pids: gateway.processes.map(({ pid }) => pid),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  };
  const recording = {
    ...rules,
    audit: { sinks: [{ kind: 'file', folder: `${keys.auth.keys.file}-audit` }], calls: 'writes' },
  };
  const ruled = await start(recording);
  return [
    { name: 'known', ...(await start({})) },
    { name: 'known, 100 rules', tools: 'only reading', ...ruled },
    { name: 'known, 100 rules, on record', tools: 'writing', ...ruled },
    { name: 'known, 100 rules, on record, limited', tools: 'writing', ...(await start({ ...recording, ...limits })) },
  ];
}

export const stdioUpstream = { command: 'node', args: [program('stdio-upstream')] };
