/** What tests see of a NATS server, whether it is a program or a container. */

export interface NatsServer {
  /** `nats://127.0.0.1:port` */
  readonly url: string;
  /** The folder of its files; undefined in a container. */
  readonly folder?: string;
  /** Numbers of the connected clients. That of a killed process is among them until the server has noticed and has removed its subscriptions. */
  clients(): Promise<readonly number[]>;
  kill(): Promise<void>;
  /** Starts it again at the same address, with its stored data. @param settings other settings; only where the server is a program. */
  start(settings?: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Numbers of the clients of the server with its monitor on the port. */
export async function clientsOf(monitorPort: string | number): Promise<readonly number[]> {
  const answer = await fetch(`http://127.0.0.1:${monitorPort}/connz`, { headers: { connection: 'close' } });
  return ((await answer.json()) as { connections: { cid: number }[] }).connections.map(({ cid }) => cid);
}
