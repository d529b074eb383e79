/** A port of a Service: connections go to its ready pods, one after the other. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Pod } from './pod.ts';

export interface Listening extends AsyncDisposable {
  readonly port: number;
}

/** @param port 0 for a free one. @param target the port of the pods. @param pods of the Service; those that are not ready get no connection. */
export async function listenFor(
  host: string,
  port: number,
  target: number | string,
  pods: () => readonly Pod[],
): Promise<Listening> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer((incoming) => {
    const ready = pods().filter(({ isReady }) => isReady);
    const pod = ready[turn++ % ready.length];
    if (pod === undefined) {
      incoming.destroy();
      return;
    }
    const outgoing = connect(pod.portOf(target), pod.placed.address);
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
