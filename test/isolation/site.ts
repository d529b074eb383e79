/** The gateway that the clients share, in either shape, and the disturbances of it. */
import { vi } from 'vitest';
import { startGateway, type GatewayUnderTest, type Shape } from '../support/gateway.ts';
import { Link } from '../support/link.ts';
import { end, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { servers } from './ground.ts';
import type { Credentials } from './wires.ts';

const roles = ['edge', 'session', 'backend'] as const;
type Role = (typeof roles)[number];

export const disturbances = {
  embedded: ['reload'],
  nats: ['reload', ...roles.flatMap((role) => [`SIGKILL ${role}`, `SIGTERM ${role}`] as const)],
} as const;
export type Disturbance = (typeof disturbances)[Shape][number];

const appliedMs = 60_000;

export class Site {
  readonly #gateway: GatewayUnderTest;
  readonly #parts: Record<Role, RunningProcess[]>;
  readonly #balancer: Link | undefined;
  #connections = 0;

  private constructor(gateway: GatewayUnderTest, parts: Record<Role, RunningProcess[]>, balancer: Link | undefined) {
    this.#gateway = gateway;
    this.#parts = parts;
    this.#balancer = balancer;
  }

  /** Starts one process, or two of each role over NATS behind one address. */
  static async start(shape: Shape, config: object): Promise<Site> {
    const gateway = await startGateway(shape, config);
    if (shape === 'embedded') return new Site(gateway, { edge: [gateway.edge], session: [], backend: [] }, undefined);
    const [session] = gateway.processes.filter((part) => part !== gateway.edge && part !== gateway.backend) as [
      RunningProcess,
    ];
    const [edge, otherSession, backend] = (await Promise.all(roles.map((role) => gateway.startPart(role)))) as [
      RunningProcess,
      RunningProcess,
      RunningProcess,
    ];
    const parts = { edge: [gateway.edge, edge], session: [session, otherSession], backend: [gateway.backend, backend] };
    const ports = new Map<RunningProcess, number>();
    for (const each of parts.edge) ports.set(each, await portOf(each));
    const balancer = await Link.open(() => {
      site.#connections += 1;
      return ports.get(site.#parts.edge[site.#connections % site.#parts.edge.length] as RunningProcess);
    });
    const site = new Site(gateway, parts, balancer);
    site.#learnPort = async (part) => void ports.set(part, await portOf(part));
    return site;
  }

  #learnPort: (part: RunningProcess) => Promise<void> = () => Promise.resolve();

  get url(): string {
    return this.#balancer === undefined ? this.#gateway.url : `http://127.0.0.1:${this.#balancer.port}/mcp`;
  }

  /** @param nextConfig the configuration for a reload. @returns once the disturbance has ended. */
  async suffer(disturbance: Disturbance, nextConfig: () => object): Promise<void> {
    if (disturbance === 'reload') {
      await this.#reload(nextConfig());
      return;
    }
    const [signal, role] = disturbance.split(' ') as ['SIGKILL' | 'SIGTERM', Role];
    const [old, kept] = this.#parts[role] as [RunningProcess, RunningProcess];
    this.#parts[role] = [kept];
    const [fresh] = await Promise.all([this.#gateway.startPart(role), end(old, signal)]);
    if (role === 'edge') await this.#learnPort(fresh);
    this.#parts[role] = [kept, fresh];
  }

  async #reload(config: object): Promise<void> {
    const running = roles.flatMap((role) => this.#parts[role]);
    const applied = (part: RunningProcess): number =>
      part.output().split('the changed configuration is applied').length;
    const before = running.map(applied);
    await this.#gateway.configure(config);
    await vi.waitFor(
      () => {
        if (running.some((part, index) => applied(part) === before[index]))
          throw new Error('the configuration is not applied yet');
      },
      { timeout: appliedMs },
    );
  }

  /** Resolves once the tools of every server are listed. @param credentials of a caller that may see them. */
  async untilThere(credentials: Credentials): Promise<void> {
    using client = await RawClient.open(this.url, '2025-11-25', credentials);
    const heard = await client.standing();
    for (;;) {
      const announced = heard.values.length;
      const names = await toolsOf(client);
      // A list that has changed between two of its pages is read again from its beginning.
      if (names === undefined) continue;
      if (servers.every(({ name }) => names.includes(`${name}__echo`))) return;
      await heard.until(announced + 1);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#balancer?.[Symbol.dispose]();
    await this.#gateway[Symbol.asyncDispose]();
  }
}

/** The names of all tools; undefined if the list changed while its pages were read. */
async function toolsOf(client: RawClient): Promise<readonly string[] | undefined> {
  const names: string[] = [];
  for (let cursor: unknown, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { last } = await client.request('tools/list', cursor === undefined ? {} : { cursor });
    if (last.error?.data?.['reason'] === 'cursor.invalid') return undefined;
    if (last.result === undefined) throw new Error(`tools/list was answered ${JSON.stringify(last)}`);
    names.push(...(last.result['tools'] as { name: string }[]).map(({ name }) => name));
    cursor = last.result['nextCursor'];
  }
  return names;
}

async function portOf(edge: RunningProcess): Promise<number> {
  const [, port] = await edge.line(/"endpoint":"http:\/\/127\.0\.0\.1:(\d+)/);
  return Number(port);
}
