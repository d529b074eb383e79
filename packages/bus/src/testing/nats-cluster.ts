/** Three NATS servers with JetStream on loopback, of which a test can stop one. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { DiscardPolicy, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { freePorts } from './free-ports.ts';
import { spawnNats } from './nats-server.ts';

export interface NatsNode {
  readonly port: number;
  readonly isUp: boolean;
  /** @param isStoreLost whether its files are gone, too. */
  kill(isStoreLost?: boolean): Promise<void>;
  /** Resolves when it is ready again. */
  start(): Promise<void>;
}

export interface NatsCluster {
  readonly nodes: readonly NatsNode[];
  /** Fills the store, so that nothing more can be stored. @returns a function that makes room again. */
  fillStore(): Promise<() => Promise<void>>;
  [Symbol.asyncDispose](): Promise<void>;
}

const filler = 'filler';
/** Just under the default `max_payload`. */
const pieceBytes = 1024 * 1024 - 1024;

/**
 * @param maxStoreMegabytes what JetStream may store on each node.
 * @param started how many of the nodes are started.
 */
export async function startNatsCluster(maxStoreMegabytes: number, started = 3): Promise<NatsCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-nats-'));
  const ports = await freePorts(6);
  const routes = ports.slice(3).map((port) => `nats://127.0.0.1:${port}`);
  const leads = Promise.withResolvers<void>();
  const nodes = await Promise.all(
    [0, 1, 2].map(async (index) => {
      const file = join(folder, `${index}.conf`);
      // Clients stay with their configured address, so that a test may put a proxy between them and a node.
      await writeFile(
        file,
        `server_name: n${index}\nlisten: 127.0.0.1:${ports[index]}\n` +
          `cluster { name: chaos, listen: 127.0.0.1:${ports[index + 3]}, routes: [${routes.join(', ')}], no_advertise: true }\n` +
          `jetstream { store_dir: ${JSON.stringify(join(folder, String(index)))}, max_file_store: ${maxStoreMegabytes}MB }\n`,
      );
      let child: ChildProcess | undefined;
      const node: NatsNode = {
        port: ports[index] as number,
        get isUp() {
          return child !== undefined;
        },
        async kill(isStoreLost = false) {
          if (child === undefined) return;
          const exited = once(child, 'exit');
          child.kill('SIGKILL');
          child = undefined;
          await exited;
          if (isStoreLost) await rm(join(folder, String(index)), { recursive: true, force: true });
        },
        async start() {
          child = await spawnNats(['--config', file], (log) => {
            if (log.includes(' metadata leader')) leads.resolve();
          });
        },
      };
      return node;
    }),
  );
  await Promise.all(nodes.slice(0, started).map((node) => node.start()));
  await leads.promise;
  return {
    nodes,
    fillStore: () => fillStore(nodes),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @returns a function that makes room again. */
async function fillStore(nodes: readonly NatsNode[]): Promise<() => Promise<void>> {
  const connection = await connect({
    servers: nodes.filter(({ isUp }) => isUp).map(({ port }) => `127.0.0.1:${port}`),
  });
  const manager = await jetstreamManager(connection, { checkAPI: false });
  // A cluster that has just lost a node may have no leader for a moment.
  for (let isThere = false; !isThere;)
    isThere = await manager.streams
      .add({ name: filler, subjects: [filler], num_replicas: nodes.length, discard: DiscardPolicy.New })
      .then(
        () => true,
        () => false,
      );
  const client = manager.jetstream();
  const piece = new Uint8Array(pieceBytes);
  for (let isFull = false; !isFull;)
    isFull = await client.publish(filler, piece).then(
      () => false,
      () => true,
    );
  return async () => {
    // A full server may be too busy to confirm the deletion.
    for (let isGone = false; !isGone;)
      isGone = await manager.streams.delete(filler).then(
        () => true,
        (error: unknown) => error instanceof JetStreamApiError,
      );
    await connection.close();
  };
}
