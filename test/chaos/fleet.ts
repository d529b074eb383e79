/** Two processes of each role on a cluster of three NATS nodes, each over its own network link, behind one address for clients. */
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { reservedBytes } from '@omnibus/bus';
import { Outsider, startNatsCluster, type NatsCluster, type NatsNode } from '@omnibus/bus/testing';
import { parseCatalogKey } from '@omnibus/protocol';
import { vi } from 'vitest';
import { configText, writeConfig } from '../support/gateway.ts';
import { Link } from '../support/link.ts';
import { metricsOf } from '../support/metrics.ts';
import { fixturePath, omnibusProgram, type RunningProcess, sealing, startProcess } from '../support/processes.ts';

export const roles = ['edge', 'session', 'backend'] as const;
export type Role = (typeof roles)[number];

interface Part {
  readonly process: RunningProcess;
  /** The link between it and NATS. */
  readonly link: Link;
  /** The port of an edge. */
  readonly port: number | undefined;
}

/** The configuration file, without addresses. */
export interface FleetConfig {
  readonly mcpServers: Readonly<Record<string, { readonly url?: string } & Readonly<Record<string, unknown>>>>;
  readonly [option: string]: unknown;
}

/** Alternatives for its parts. */
export interface FleetParts {
  /** A program that takes the arguments of `omnibus`; default: `omnibusProgram`. */
  readonly program?: string;
  /** Default: a cluster of three nodes. */
  readonly nats?: Promise<NatsCluster>;
  /** The fixture that is loaded before the program; default: `jumping-clock`. */
  readonly before?: string;
}

/** The records in the store. */
export interface Stored {
  readonly sessions: number;
  /** The servers with a list. */
  readonly listed: ReadonlySet<string>;
}

/** Little more than the buckets and streams reserve, so that the store is filled quickly. */
const maxStoreMegabytes = Math.ceil(reservedBytes() / 2 ** 20) + 64;
/** When a process is not ready by then, the run fails. */
const startMs = 60_000;
/** Milliseconds that the store has to list its records. */
const readMs = 5_000;

export class Fleet {
  readonly cluster: NatsCluster;
  readonly #configFile: string;
  readonly #parts: Record<Role, Part[]> = { edge: [], session: [], backend: [] };
  /** The program of new processes. */
  program: string;
  #config: FleetConfig;
  #reloads = 1;
  readonly #before: string;
  readonly #balancer: Link;
  #connections = 0;
  readonly #started: [role: Role, process: RunningProcess][] = [];

  private constructor(
    config: FleetConfig,
    cluster: NatsCluster,
    configFile: string,
    { program, before }: Required<Pick<FleetParts, 'program' | 'before'>>,
    balancer: Link,
  ) {
    this.program = program;
    this.#before = before;
    this.#balancer = balancer;
    this.#config = config;
    this.cluster = cluster;
    this.#configFile = configFile;
  }

  /** @param configured the configuration, or what makes it of the address that clients know. */
  static async start(
    configured: FleetConfig | ((publicUrl: string) => FleetConfig),
    { program = omnibusProgram, nats = startNatsCluster(maxStoreMegabytes), before = 'jumping-clock' }: FleetParts = {},
  ): Promise<Fleet> {
    let fleet: Fleet | undefined;
    const balancer = await Link.open(() => fleet?.nextEdge());
    const config = typeof configured === 'function' ? configured(`http://127.0.0.1:${balancer.port}`) : configured;
    fleet = new Fleet(config, await nats, await writeConfig(config), { program, before }, balancer);
    for (const role of [...roles, ...roles].toReversed()) fleet.#parts[role].push(await fleet.#startPart(role));
    return fleet;
  }

  /** The port of the edge that serves the next connection. */
  nextEdge(): number | undefined {
    const edges = this.#parts.edge;
    this.#connections += 1;
    return edges[this.#connections % edges.length]?.port;
  }

  /** The address for clients, independent of the current edges. */
  get url(): string {
    return `http://127.0.0.1:${this.#balancer.port}/mcp`;
  }

  /** Every running process of the gateway. */
  get processes(): readonly RunningProcess[] {
    return roles.flatMap((role) => this.#parts[role].map(({ process }) => process));
  }

  /** Writes the output of every process so far, one file for each. */
  async writeLogs(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    await Promise.all(
      this.#started.map(([role, process], index) => writeFile(join(folder, `${index}-${role}.log`), process.output())),
    );
  }

  part(role: Role, index: number): Part {
    return this.#parts[role][index % 2] as Part;
  }

  node(index: number): NatsNode {
    return this.cluster.nodes[index % 3] as NatsNode;
  }

  /** Ends the older process of a role, and starts another one. */
  async replace(role: Role, signal: NodeJS.Signals): Promise<void> {
    const [old, kept] = this.#parts[role] as [Part, Part];
    this.#parts[role] = [kept];
    const ended = once(old.process.child, 'exit');
    old.process.kill(signal);
    this.#parts[role] = [kept, await this.#startPart(role)];
    await ended;
    old.link[Symbol.dispose]();
  }

  /** Starts two processes of a role, and kills the two older ones, the second one while others take over from the first. */
  async killInTurn(role: Role, apartMs: number): Promise<void> {
    const old = this.#parts[role];
    this.#parts[role] = [await this.#startPart(role), await this.#startPart(role)];
    for (const { process, link } of old) {
      const ended = once(process.child, 'exit');
      process.kill('SIGKILL');
      await ended;
      link[Symbol.dispose]();
      await wait(apartMs);
    }
  }

  /** What the store has. */
  stored(): Promise<Stored> {
    return vi.waitFor(() => this.#storedNow(), { timeout: startMs, interval: 100 });
  }

  async #storedNow(): Promise<Stored> {
    await using outsider = await Outsider.connect(`nats://127.0.0.1:${this.node(0).port}`);
    // A read that begins while a bucket has no leader may never end.
    const tooLong = wait(readMs).then(() => Promise.reject(new Error('the store does not answer')));
    const buckets = await Promise.race([outsider.buckets(), tooLong]);
    const lists = [...(buckets.get('omnibus-catalog')?.keys() ?? [])].map((key) => parseCatalogKey(key)?.server ?? key);
    return { sessions: buckets.get('omnibus-sessions')?.size ?? 0, listed: new Set(lists) };
  }

  /** Resolves when the store has again what was lost with it: the list of each server, and the sessions, but those that no worker holds any more. */
  async restored({ sessions, listed }: Stored): Promise<void> {
    await vi.waitFor(
      async () => {
        const now = await this.#storedNow();
        const missing = [...listed].filter((server) => !now.listed.has(server));
        const wanted = Math.min(sessions, await this.#heldSessions());
        if (missing.length > 0 || now.sessions < wanted)
          throw new Error(`${now.sessions} of ${wanted} sessions are stored, and no list of ${missing.join(', ')}`);
      },
      { timeout: startMs, interval: 100 },
    );
  }

  async #heldSessions(): Promise<number> {
    const all = await Promise.all(this.#parts.session.map(({ process }) => metricsOf(process)));
    return all.reduce((sum, metrics) => sum + (metrics.get('omnibus_sessions{state="ready"}') ?? 0), 0);
  }

  /** Resolves when each process says that it has all that it needs: the connection to NATS, and every bucket and stream. Their records may still be missing. */
  async ready(): Promise<void> {
    const readinessOf = async (process: RunningProcess): Promise<string> => {
      const [, admin] = (await process.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
      return (await fetch(`http://${admin}/readyz`)).text();
    };
    await vi.waitFor(
      async () => {
        const all = await Promise.all(this.processes.map(readinessOf));
        const unready = all.find((each) => each !== 'ready\n');
        if (unready !== undefined) throw new Error(unready);
      },
      { timeout: startMs, interval: 100 },
    );
  }

  /** Changes the configuration of a server, and waits until every process has applied it. */
  async reload(server: string): Promise<void> {
    const applied = (process: RunningProcess): number =>
      process.output().split('the changed configuration is applied').length;
    const { mcpServers } = this.#config;
    this.#config = {
      ...this.#config,
      mcpServers: { ...mcpServers, [server]: { ...mcpServers[server], timeout: `${10_000 + this.#reloads}ms` } },
    };
    this.#reloads += 1;
    const before = this.processes.map((process) => [process, applied(process)] as const);
    await writeFile(this.#configFile, configText(this.#config));
    await vi.waitFor(
      () => {
        if (before.some(([process, count]) => applied(process) === count))
          throw new Error('the configuration is not applied yet');
      },
      { timeout: startMs },
    );
  }

  /** Runs a third backend for a while that reaches none of the servers. */
  async besideBadBackend(ms: number): Promise<void> {
    const { mcpServers } = this.#config;
    const nowhere = Object.fromEntries(
      Object.entries(mcpServers).map(([name, settings]) => [
        name,
        settings.url === undefined ? { command: '/nowhere' } : { url: 'http://127.0.0.1:9/mcp' },
      ]),
    );
    const file = await writeConfig({ ...this.#config, mcpServers: nowhere });
    const { process, link } = await this.#startPart('backend', file);
    await wait(ms);
    const ended = once(process.child, 'exit');
    process.kill('SIGTERM');
    await ended;
    link[Symbol.dispose]();
    await rm(dirname(file), { recursive: true, force: true });
  }

  async #startPart(role: Role, configFile = this.#configFile): Promise<Part> {
    const { nodes } = this.cluster;
    let attempts = Math.floor(this.#connections);
    const link = await Link.open(() => {
      attempts += 1;
      const up = nodes.filter(({ isUp }) => isUp);
      return up[attempts % up.length]?.port;
    });
    const process = startProcess(
      'node',
      [
        '--import',
        fixturePath(this.#before),
        this.program,
        'serve',
        '--config',
        configFile,
        '--listen',
        '127.0.0.1:0',
        '--admin',
        '127.0.0.1:0',
        '--role',
        role,
        '--bus',
        `nats://127.0.0.1:${link.port}`,
      ],
      role === 'backend' ? {} : sealing,
    );
    this.#started.push([role, process]);
    const tooLong = setTimeout(() => process.kill('SIGKILL'), startMs);
    await process.line(/"msg":"ready"/);
    clearTimeout(tooLong);
    const [, port] = role === 'edge' ? await process.line(/"endpoint":"http:\/\/127\.0\.0\.1:(\d+)/) : [];
    return { process, link, port: port === undefined ? undefined : Number(port) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#balancer[Symbol.dispose]();
    const parts = roles.flatMap((role) => this.#parts[role]);
    await Promise.all(this.#started.map(([, process]) => process[Symbol.asyncDispose]()));
    for (const { link } of parts) link[Symbol.dispose]();
    await this.cluster[Symbol.asyncDispose]();
    await rm(dirname(this.#configFile), { recursive: true, force: true });
  }
}
