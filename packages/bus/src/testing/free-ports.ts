import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Ports below the ephemeral range (Linux: 32768 to 60999, IANA: 49152 to 65535): a system may assign such a port to another process
 * before the program that it was chosen for has started.
 */
const [lowest, highest] = [15_000, 32_000];

/** Ports that are free at the moment, for programs that have to be started with a port number. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
