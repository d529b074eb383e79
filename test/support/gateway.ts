/** The built gateway as its users run it, in both shapes: one process, or one process a role over a real NATS. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { natsUsers, type BusRole } from '@omnibus/bus';
import { startNatsServer } from '@omnibus/bus/testing';
import { omnibusProgram, type RunningProcess, sealing, startProcess } from './processes.ts';

export const shapes = ['embedded', 'nats'] as const;
export type Shape = (typeof shapes)[number];

export interface GatewayUnderTest {
  /** `http://127.0.0.1:port/mcp` */
  readonly url: string;
  /** Of the part that serves clients and of the part that talks to servers; the same process when embedded. */
  readonly edge: RunningProcess;
  readonly backend: RunningProcess;
  readonly processes: readonly RunningProcess[];
  readonly configFile: string;
  /** Of the bus between the processes; undefined when embedded. */
  readonly bus: string | undefined;
  /** Kills the NATS between the processes and starts it again. */
  restartBus(): Promise<void>;
  /** Starts another edge. @returns its endpoint. */
  startEdge(): Promise<string>;
  /** Starts another process of one role. */
  startPart(role: BusRole): Promise<RunningProcess>;
  /** Replaces the configuration file; running processes follow it. */
  configure(config: object): Promise<void>;
  /** `host:port` of the admin port of one process. */
  admin(process: RunningProcess): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Where clients of an edge connect. */
async function endpointOf(edge: RunningProcess): Promise<string> {
  const [, endpoint] = (await edge.line(/"endpoint":"([^"]+)"/)) as unknown as [string, string];
  return endpoint;
}

/** Each role may do at NATS what it needs and nothing else, in every test; whoever else connects may do all. */
const settingsOfNats = `authorization { users: [\n${natsUsers((role) => role)}\n{ user: outsider, password: outsider }\n] }\nno_auth_user: outsider`;

const anyPort = '127.0.0.1:0';

/** What a configuration file of a test holds. */
export function configText(config: object): string {
  return JSON.stringify({ log: { format: 'json' }, ...config });
}

/** A configuration file of its own, for programs that outlive the test that wrote it by a moment. */
export async function writeConfig(config: object): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'omnibus-test-')), 'omnibus.json');
  await writeFile(file, configText(config));
  return file;
}

/**
 * @param config what the configuration file holds, less addresses, log and bus.
 * @param environment of its processes, besides ours.
 * @param program what is run; default: the gateway of this checkout, as built.
 */
export async function startGateway(shape: Shape, config: object, environment: Readonly<Record<string, string>> = {}, program = omnibusProgram): Promise<GatewayUnderTest> {
  await using starting = new AsyncDisposableStack();
  let stack: AsyncDisposableStack = starting;
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-test-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const configFile = join(folder, 'omnibus.json');
  const configure = (content: object): Promise<void> => writeFile(configFile, configText(content));
  await configure(config);
  const args = [program, 'serve', '--config', configFile, '--listen', anyPort, '--admin', anyPort];

  const processes: RunningProcess[] = [];
  const start = (...more: string[]): RunningProcess => {
    const running = stack.use(startProcess('node', [...args, ...more], more.includes('session') || more.includes('edge') ? { ...sealing, ...environment } : environment));
    processes.push(running);
    return running;
  };
  const startRole = (role: BusRole): RunningProcess => start('--role', role, '--bus', (busUrl as string).replace('://', `://${role}:${role}@`));
  let edge: RunningProcess;
  let backend: RunningProcess;
  let busUrl: string | undefined;
  let restartBus = (): Promise<void> => Promise.reject(new Error('there is no NATS'));
  if (shape === 'embedded') {
    edge = start();
    backend = edge;
  } else {
    const nats = stack.use(await startNatsServer(settingsOfNats));
    busUrl = nats.url;
    restartBus = async () => {
      await nats.kill();
      await nats.start();
    };
    backend = startRole('backend');
    await backend.line(/"msg":"ready"/);
    const session = startRole('session');
    await session.line(/"msg":"ready"/);
    edge = startRole('edge');
  }
  await Promise.all(processes.map((running) => running.line(/"msg":"ready"/)));
  const url = await endpointOf(edge);
  const startPart = async (role: BusRole): Promise<RunningProcess> => {
    const part = startRole(role);
    await part.line(/"msg":"ready"/);
    return part;
  };
  const owned = stack.move();
  stack = owned;
  return {
    url, edge, backend, processes, configFile, configure,
    bus: busUrl,
    startPart,
    restartBus: () => restartBus(),
    startEdge: async () => endpointOf(await startPart('edge')),
    async admin(running) {
      const [, address] = (await running.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
      return address;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
