/**
 * A NATS server in a container, run by testcontainers. The image contains only the `nats-server` of the PATH and its libraries, so no registry is needed;
 * a machine without that program uses the official image.
 */
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePorts } from './free-ports.ts';
import { clientsOf, type NatsServer } from './nats-under-test.ts';

const officialImage = 'nats:2.12-alpine';
const builtImage = 'omnibus-test-nats:path';
const clientPort = 4222;
const containerMonitorPort = 8222;
/** Path of the settings in the container. */
const settingsFile = '/nats.conf';

/** Whether a Docker engine answers; asked once per process. */
export const hasDockerEngine = (() => {
  let known: boolean | undefined;
  return (): boolean => {
    known ??= spawnSync('docker', ['info', '--format', '{{.ServerVersion}}'], { timeout: 5_000 }).status === 0;
    return known;
  };
})();

/**
 * @param settings of its configuration file.
 * @throws {Error} of testcontainers when the image cannot be built, pulled or started.
 */
export async function startNatsContainer(settings = ''): Promise<NatsServer> {
  // The reaper is an image of its own, which cannot be pulled without a registry; each container is removed by the code that started it.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
  const { GenericContainer, Wait, getContainerRuntimeClient } = await import('testcontainers');
  const image = await providedImage();
  const [port, monitorPort] = (await freePorts(2)) as [number, number];
  // On Linux the container uses the network of the host: it listens on loopback only, and the port stays the same after a restart.
  const isLinux = process.platform === 'linux';
  const container = new GenericContainer(image).withWaitStrategy(Wait.forLogMessage(/Server is ready/));
  const command = isLinux
    ? ['--addr', '127.0.0.1', '--port', String(port), '-m', String(monitorPort)]
    : ['--port', String(clientPort), '-m', String(containerMonitorPort)];
  const placed = isLinux
    ? container.withNetworkMode('host')
    : container.withExposedPorts(
        { container: clientPort, host: port },
        { container: containerMonitorPort, host: monitorPort },
      );
  const started = await placed
    .withCopyContentToContainer([{ content: settings, target: settingsFile }])
    .withCommand(['--config', settingsFile, ...command, '--jetstream', '--store_dir', '/data'])
    .start();
  const engine = await getContainerRuntimeClient();
  const handle = engine.container.getById(started.getId());
  return {
    url: `nats://127.0.0.1:${port}`,
    clients: () => clientsOf(monitorPort),
    async kill() {
      await handle.kill({ signal: 'SIGKILL' });
      await handle.wait();
    },
    async start() {
      await handle.start();
      await answers(port);
    },
    async [Symbol.asyncDispose]() {
      await handle.remove({ force: true, v: true });
    },
  };
}

/** Resolves when a NATS server answers on the port. */
async function answers(port: number): Promise<void> {
  const { connect } = await import('@nats-io/transport-node');
  const connection = await connect({
    servers: `127.0.0.1:${port}`,
    waitOnFirstConnect: true,
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1,
  });
  await connection.close();
}

/** The name of an image to start; builds it where the program is on the PATH. */
async function providedImage(): Promise<string> {
  const found = spawnSync('which', ['nats-server'], { encoding: 'utf8' });
  if (process.platform !== 'linux' || found.status !== 0) return officialImage;
  const program = found.stdout.trim();
  const libraries = [...spawnSync('ldd', [program], { encoding: 'utf8' }).stdout.matchAll(/(\/\S+) \(0x/g)].map(
    ([, path]) => path as string,
  );
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-nats-image-'));
  try {
    for (const file of [program, ...libraries]) {
      await mkdir(join(folder, dirname(file)), { recursive: true });
      await copyFile(file, join(folder, file));
    }
    const copies = [program, ...libraries].map((file) => `COPY .${file} ${file}`);
    await writeFile(
      join(folder, 'Dockerfile'),
      ['FROM scratch', ...copies, `ENTRYPOINT ["${program}"]`, ''].join('\n'),
    );
    // With the cache of the engine, every build after the first one only compares files.
    const built = spawnSync('docker', ['build', '--quiet', '--tag', builtImage, folder], { encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`the image of nats-server could not be built: ${built.stderr}`);
    return builtImage;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
