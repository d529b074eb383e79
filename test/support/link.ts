/** A network between two programs: connections pass through it until a test cuts it. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(target: () => number | undefined) {
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, (near) => {
      const port = target();
      if (port === undefined) {
        near.destroy();
        return;
      }
      const far = connect({ port, host: '127.0.0.1', noDelay: true });
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on('data', (chunk) => {
          if (!to.write(chunk)) from.pause();
        });
        to.on('drain', () => {
          if (!this.#isCut) from.resume();
        });
        from.once('error', () => to.destroy());
        from.once('end', () => to.end());
        from.once('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
      if (!this.#isCut) near.resume();
    });
  }

  /** @param target the port on loopback for a new connection; undefined while there is none. */
  static async open(target: () => number | undefined): Promise<Link> {
    const link = new Link(target);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops passing data on, without closing connections; data that is sent meanwhile arrives after the repair. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Breaks every connection: data that is on its way is lost. New connections pass. */
  sever(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
