/** Two NATS clusters of one node each, joined by a gateway, and a leaf node of the first that stores nothing itself. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, spawnNats } from '@omnibus/bus/testing';
import { once } from 'node:events';
import { omnibusProgram, type RunningProcess, sealing, startProcess } from '../support/processes.ts';
import { writeConfig } from '../support/gateway.ts';

export interface World {
  /** `nats://127.0.0.1:port` of each. */
  readonly east: string;
  readonly west: string;
  readonly leaf: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The JetStream domain of both clusters. */
export const domain = 'hub';

/** NATS demands a system account where leaf nodes and gateways are combined. */
const accounts =
  'accounts { SYS { users: [{ user: sys, password: sys }] }, APP { jetstream: enabled, users: [{ user: app, password: app }] } }\nsystem_account: SYS\nno_auth_user: app\n';

export async function startWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-world-'));
  const [eastPort, westPort, leafPort, eastRoutes, westRoutes, eastGateway, westGateway, leaves] = (await freePorts(
    8,
  )) as unknown as readonly [number, number, number, number, number, number, number, number];
  const gateways = `gateways: [{ name: east, url: "nats://127.0.0.1:${eastGateway}" }, { name: west, url: "nats://127.0.0.1:${westGateway}" }]`;
  const cluster = (name: string, port: number, routes: number, gateway: number): string =>
    `server_name: ${name}-1\nlisten: 127.0.0.1:${port}\n` +
    `cluster { name: ${name}, listen: 127.0.0.1:${routes}, routes: ["nats://127.0.0.1:${routes}"] }\ngateway { name: ${name}, listen: 127.0.0.1:${gateway}, ${gateways} }\n` +
    `jetstream { store_dir: ${JSON.stringify(join(folder, name))}, domain: ${domain} }\n${accounts}`;
  const files = {
    east: `${cluster('east', eastPort, eastRoutes, eastGateway)}leafnodes { listen: 127.0.0.1:${leaves} }\n`,
    west: cluster('west', westPort, westRoutes, westGateway),
    leaf: `server_name: leaf-1\nlisten: 127.0.0.1:${leafPort}\nleafnodes { remotes: [{ url: "nats-leaf://app:app@127.0.0.1:${leaves}" }] }\n`,
  };
  const leads = Promise.withResolvers<void>();
  const start = async (name: keyof typeof files): ReturnType<typeof spawnNats> => {
    const file = join(folder, `${name}.conf`);
    await writeFile(file, files[name]);
    return spawnNats(['--config', file], (log) => {
      // A node that does not know the name of the leader yet says "new remote metadata leader".
      if (log.includes(' metadata leader')) leads.resolve();
    });
  };
  const nodes = await Promise.all([start('east'), start('west')]);
  await leads.promise;
  nodes.push(await start('leaf'));
  return {
    east: `nats://127.0.0.1:${eastPort}`,
    west: `nats://127.0.0.1:${westPort}`,
    leaf: `nats://127.0.0.1:${leafPort}`,
    async [Symbol.asyncDispose]() {
      await Promise.all(
        nodes.map(async (node) => {
          const ended = once(node, 'exit');
          node.kill('SIGKILL');
          await ended;
        }),
      );
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a process of a gateway. */
export async function startPart(
  config: object,
  bus: string,
  role: 'all' | 'edge' | 'session' | 'backend',
): Promise<RunningProcess> {
  const file = await writeConfig(config);
  const process = startProcess(
    'node',
    [
      omnibusProgram,
      'serve',
      '--config',
      file,
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
      '--role',
      role,
      '--bus',
      bus,
    ],
    sealing,
  );
  await process.line(/"msg":"ready"/);
  return process;
}

/** The address for clients of a process. */
export async function endpointOf(process: RunningProcess): Promise<string> {
  const [, endpoint] = (await process.line(/"endpoint":"([^"]+)"/)) as unknown as [string, string];
  return endpoint;
}
