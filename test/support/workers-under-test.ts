/** A gateway over NATS with session workers that tests start and end. */
import type { BusRole } from '@omnibus/bus';
import { endNow, startGateway, type GatewayUnderTest } from './gateway.ts';
import { end, type RunningProcess } from './processes.ts';
import { RawClient } from './raw-client.ts';
import { text, tool, Upstream } from './upstream.ts';

export class WorkersUnderTest implements AsyncDisposable {
  readonly upstream: Upstream;
  /** The number, counted from 1, of the resource read that the server `up` does not answer. */
  ignored = 0;
  #gateway: GatewayUnderTest | undefined;

  private constructor(upstream: Upstream) {
    this.upstream = upstream;
  }

  /**
   * @param servers in addition to `up`; its tool `echo` answers at once and `slow` on the test's signal.
   * @param options of the configuration.
   */
  static async start(servers: object = {}, options: object = {}): Promise<WorkersUnderTest> {
    let made: WorkersUnderTest | undefined;
    const upstream: Upstream = await Upstream.start({
      tools: [tool('slow'), tool('echo')],
      resources: [{ uri: 'up://one', name: 'one' }],
      onCall: (call) => (call.name === 'echo' ? call.answer(text('echoed')) : undefined),
      ignores: ({ method }) =>
        method === 'resources/read' &&
        upstream.requests.filter((request) => request.method === 'resources/read').length === made?.ignored,
    });
    made = new WorkersUnderTest(upstream);
    made.#gateway = await startGateway('nats', {
      prefix: 'always',
      ...options,
      mcpServers: { up: { url: upstream.url }, ...servers },
    });
    await made.serves('echo');
    return made;
  }

  get gateway(): GatewayUnderTest {
    return this.#gateway as GatewayUnderTest;
  }

  /** Resolves when a list has a tool with that ending of its name. */
  async serves(tool: string): Promise<void> {
    using client = await RawClient.open(this.gateway.url);
    await client.untilTools((names) => names.some((name) => name.endsWith(tool)));
  }

  /** The session workers that run. */
  holders(): RunningProcess[] {
    return this.running('session');
  }

  /** The processes of a role that run. */
  running(role: BusRole): RunningProcess[] {
    return this.gateway.processes.filter(
      ({ child: { spawnargs, exitCode, signalCode } }) =>
        spawnargs[spawnargs.indexOf('--role') + 1] === role && exitCode === null && signalCode === null,
    );
  }

  /** Starts a worker, and ends all previous ones. */
  async replace(signal: NodeJS.Signals): Promise<void> {
    const old = this.holders();
    await this.gateway.startPart('session');
    if (signal === 'SIGKILL') await this.gateway.lose(...old);
    else await Promise.all(old.map((worker) => end(worker, signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#gateway !== undefined) await endNow(this.#gateway);
    await this.upstream[Symbol.asyncDispose]();
  }
}
