/** A real NATS server for tests: in a container where a Docker engine answers, else the `nats-server` on the PATH. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasDockerEngine, startNatsContainer } from './nats-container.ts';
import { clientsOf, type NatsServer } from './nats-under-test.ts';

export type { NatsServer } from './nats-under-test.ts';

const maxLogCharacters = 64 * 1024;

/**
 * @param settings of its configuration file.
 * @throws {Error} that says what to install when there is neither an engine nor the program.
 */
export function startNatsServer(settings = ''): Promise<NatsServer> {
  return hasDockerEngine() ? startNatsContainer(settings) : startNatsProgram(settings);
}

/** Whether the program is on the PATH; asked once per process. */
const isInstalled = (() => {
  let known: boolean | undefined;
  return (): boolean => {
    known ??= spawnSync('nats-server', ['--version']).status === 0;
    return known;
  };
})();

/**
 * Starts the program of the PATH, even if there is a Docker engine.
 * @param settings of its configuration file.
 */
export async function startNatsProgram(settings = ''): Promise<NatsServer> {
  if (!isInstalled())
    throw new Error(
      'the tests need a NATS server: install nats-server (Debian: apt-get install nats-server; macOS: brew install nats-server)',
    );
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-nats-'));
  let log = '';
  const file = join(folder, 'nats.conf');
  await writeFile(file, settings);
  const spawnAt = (address: string): Promise<ChildProcess> =>
    spawnNats(
      ['--config', file, '--addr', '127.0.0.1', '--port', address, '-m', '-1', '--jetstream', '--store_dir', folder],
      (said) => {
        log = said;
      },
    );
  let child: ChildProcess | undefined = await spawnAt('-1');
  const port = /client connections on 127\.0\.0\.1:(\d+)/.exec(log)?.[1] as string;
  const kill = async (): Promise<void> => {
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    child = undefined;
    await exited;
  };
  return {
    url: `nats://127.0.0.1:${port}`,
    folder,
    clients: () => clientsOf(/http monitor on 127\.0\.0\.1:(\d+)/.exec(log)?.[1] as string),
    kill,
    async start(otherSettings) {
      if (otherSettings !== undefined) await writeFile(file, otherSettings);
      child = await spawnAt(port);
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Resolves when the server is ready.
 * @param hear called with the whole log so far, whenever it grows.
 */
export function spawnNats(args: readonly string[], hear: (log: string) => void): Promise<ChildProcess> {
  const child = spawn('nats-server', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    let log = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-maxLogCharacters);
      hear(log);
      if (log.includes('Server is ready')) resolve(child);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`nats-server exited with ${code}: ${log}`)));
  });
}
