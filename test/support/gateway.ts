/** The built gateway in both shapes: one process, or one process for each role over a real NATS. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditLedger, natsUsers, setUpNats, type BusRole, type NatsPlace } from '@omnibus/bus';
import { startNatsServer } from '@omnibus/bus/testing';
import { isLongLane } from './lane.ts';
import { untilTrue } from './paced.ts';
import { end, omnibusProgram, type Printing, root, type RunningProcess, sealing, startProcess } from './processes.ts';

export const shapes = ['embedded', 'nats'] as const;
export type Shape = (typeof shapes)[number];

/**
 * For suites about what happens between clients, users and servers, which is the same in either shape: the gate runs them in three processes, where each
 * message passes the bus, and the long lane in one process too.
 */
export const shapesOfLane: readonly Shape[] = isLongLane ? shapes : ['nats'];

/** @typeParam P a part of the gateway: a process, or what runs in the process of the test. */
export interface GatewayOf<P extends Printing> {
  /** `http://127.0.0.1:port/mcp` */
  readonly url: string;
  /** The process that serves clients and the one that connects to servers; the same process when embedded. */
  readonly edge: P;
  readonly backend: P;
  readonly processes: readonly P[];
  readonly configFile: string;
  /** The address of the bus between the processes; undefined when embedded. */
  readonly bus: string | undefined;
  /** The folder of that bus' files; undefined when embedded, and where NATS runs in a container. */
  readonly busFolder: string | undefined;
  /** Kills the NATS between the processes and starts it again. */
  restartBus(): Promise<void>;
  /** The connections that NATS has; undefined when embedded. */
  readonly clientsOfBus: (() => Promise<readonly number[]>) | undefined;
  /** Starts another edge. @returns its endpoint. */
  startEdge(): Promise<string>;
  /** Starts another process of one role. */
  startPart(role: BusRole): Promise<P>;
  /** Replaces the configuration file; running processes apply it. */
  configure(config: object): Promise<void>;
  /** `host:port` of the admin port of one process. */
  admin(process: P): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface GatewayUnderTest extends Omit<GatewayOf<RunningProcess>, 'clientsOfBus'> {
  /**
   * Kills processes, and resolves when NATS has noticed. A message to a killed process is lost until then: its sender waits for signs of life, and the
   * outcome of a call is unknown.
   */
  lose(...lost: readonly RunningProcess[]): Promise<void>;
}

/**
 * Ends a gateway at once, where no test is about its end: in order, each role would wait for `timeouts.drain` if a test has left a call open. An unhandled
 * error that was logged still fails.
 */
export async function endNow(gateway: GatewayUnderTest): Promise<void> {
  for (const part of gateway.processes) part.kill('SIGKILL');
  await gateway[Symbol.asyncDispose]();
}

/** The address for clients of an edge. */
async function endpointOf(edge: Printing): Promise<string> {
  const [, endpoint] = (await edge.line(/"endpoint":"([^"]+)"/)) as unknown as [string, string];
  return endpoint;
}

/** The NATS users for making and restoring backups, copied from docs/how-to/backup.md; the password of each is its name. */
const backupUsers =
  /^\{ user: backup,[\s\S]*?(?=\n```)/m
    .exec(readFileSync(join(root, 'docs/how-to/backup.md'), 'utf8'))?.[0]
    ?.replaceAll(/\$(\w+)_PASSWORD/g, (_, name: string) => name.toLowerCase()) ?? '';

/** In every test, each role has only the NATS permissions that it needs; the user `outsider` has all. */
const settingsOfNats = `authorization { users: [\n${natsUsers((role) => role)}\n{ user: outsider, password: outsider }\n${backupUsers}\n] }\nno_auth_user: outsider`;

/** Creates the streams that the gateways of a test use, as the set-up does before processes start. */
export async function setUp(bus: string, place?: NatsPlace, user = 'setup'): Promise<void> {
  const steps = await setUpNats(
    {
      servers: bus.replace('://', `://${user}:setup@`),
      ...(place === undefined ? {} : { place }),
      clientName: 'setup',
      connectTimeoutMs: 10_000,
    },
    { ...auditLedger, maxAgeMs: 86_400_000, maxBytes: 64 * 1024 * 1024 },
  );
  const failed = steps.filter(({ did }) => did === 'failed');
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}

/**
 * The text of a test's configuration file. After an abort, the `fetch` of Node opens a connection and keeps it unused. At `timeouts.request`, such a
 * connection gets a 408, also if a request is on its way at that moment; so the time is longer than a test.
 */
export function configText(config: object): string {
  const { timeouts } = config as { readonly timeouts?: object };
  return JSON.stringify({ log: { format: 'json' }, ...config, timeouts: { request: '1h', ...timeouts } });
}

/** Writes a configuration file that stays, for programs that may outlive the test that wrote it. */
export async function writeConfig(config: object): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'omnibus-test-')), 'omnibus.json');
  await writeFile(file, configText(config));
  return file;
}

/** A process of a gateway, or what stands for it. */
interface Start {
  readonly configFile: string;
  /** Undefined: all roles. */
  readonly role: BusRole | undefined;
  /** The address of the bus with the login of the role; undefined in one process. */
  readonly bus: string | undefined;
}

/** Where each part listens. */
export const anyPort = '127.0.0.1:0';

/** The variables of a part: session workers and edges share a key. */
export const variablesOf = (
  role: BusRole | undefined,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  role === 'session' || role === 'edge' ? { ...sealing, ...environment } : environment;

/**
 * Starts a gateway.
 * @param config the configuration file, without addresses, log and bus.
 * @param environment further variables of its processes.
 * @param program the program to run; default: the gateway of this checkout, as built.
 * @param words further arguments of each process.
 */
export async function startGateway(
  shape: Shape,
  config: object,
  environment: Readonly<Record<string, string>> = {},
  program = omnibusProgram,
  words: readonly string[] = [],
): Promise<GatewayUnderTest> {
  const { clientsOfBus, ...gateway } = await gatewayOf(shape, config, ({ configFile, role, bus }) =>
    startProcess(
      'node',
      [
        ...[program, 'serve', '--config', configFile, '--listen', anyPort, '--admin', anyPort, ...words],
        ...(role === undefined || bus === undefined ? [] : ['--role', role, '--bus', bus]),
      ],
      variablesOf(role, environment),
    ),
  );
  return {
    ...gateway,
    async lose(...lost) {
      const before = await clientsOfBus?.();
      await Promise.all(lost.map((part) => end(part, 'SIGKILL')));
      if (clientsOfBus === undefined || before === undefined) return;
      await untilTrue(async () => {
        const now = await clientsOfBus();
        return before.filter((client) => !now.includes(client)).length >= lost.length;
      });
    },
    /** In order, a backend worker would wait ten seconds for the owner of a call that was killed, or for the one who continues it. */
    async [Symbol.asyncDispose]() {
      if (gateway.processes.some(({ child }) => child.signalCode === 'SIGKILL'))
        for (const part of gateway.processes) part.kill('SIGKILL');
      await gateway[Symbol.asyncDispose]();
    },
  };
}

/**
 * A gateway of parts.
 * @param startOf starts a part, which prints that it is ready.
 */
export async function gatewayOf<P extends Printing & AsyncDisposable>(
  shape: Shape,
  config: object,
  startOf: (start: Start) => P,
): Promise<GatewayOf<P>> {
  await using starting = new AsyncDisposableStack();
  let stack: AsyncDisposableStack = starting;
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-test-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const configFile = join(folder, 'omnibus.json');
  const configure = (content: object): Promise<void> => writeFile(configFile, configText(content));
  await configure(config);

  const processes: P[] = [];
  const start = (role?: BusRole, bus?: string): P => {
    const running = stack.use(startOf({ configFile, role, bus }));
    processes.push(running);
    return running;
  };
  const nats = shape === 'embedded' ? undefined : stack.use(await startNatsServer(settingsOfNats));
  const startRole = (role: BusRole): P => start(role, nats?.url.replace('://', `://${role}:${role}@`));
  const startPart = async (role: BusRole): Promise<P> => {
    const part = startRole(role);
    await part.line(/"msg":"ready"/);
    return part;
  };
  if (nats !== undefined) await setUp(nats.url);
  const backend = nats === undefined ? start() : await startPart('backend');
  if (nats !== undefined) await startPart('session');
  const edge = nats === undefined ? backend : startRole('edge');
  await edge.line(/"msg":"ready"/);
  const url = await endpointOf(edge);
  const owned = stack.move();
  stack = owned;
  return {
    url,
    edge,
    backend,
    processes,
    configFile,
    configure,
    bus: nats?.url,
    busFolder: nats?.folder,
    clientsOfBus: nats === undefined ? undefined : () => nats.clients(),
    startPart,
    async restartBus() {
      if (nats === undefined) throw new Error('there is no NATS');
      await nats.kill();
      await nats.start();
    },
    startEdge: async () => endpointOf(await startPart('edge')),
    async admin(running) {
      const [, address] = (await running.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
      return address;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
