/**
 * The pages of sign-ins in a gateway that opens no port of its own, such as one with its client on stdin and stdout: they are served on this
 * machine alone, while a sign-in is pending.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Site } from '@omnibus/edge';

export interface LocalPagesOptions {
  /** Preferred `host:port`, if it is free and of this machine: issuers register the redirect address. Otherwise any free port. */
  readonly preferred: string;
  /** @param base the address at which browsers reach the pages. */
  readonly site: (base: () => string) => Promise<Site>;
}

/** Milliseconds that the port stays open after the last issued address: the address works for ten minutes, and so does the sign-in that begins there. */
const openMs = 11 * 60_000;
const ofThisMachine = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\]):(\d+)$/;

export class LocalPages {
  readonly #options: LocalPagesOptions;
  #opening: Promise<{ readonly server: Server; readonly base: string }> | undefined;
  #closing: NodeJS.Timeout | undefined;

  constructor(options: LocalPagesOptions) {
    this.#options = options;
  }

  /** The address of the pages, which are served from now on. @throws {Error} when no port can be opened. */
  async base(): Promise<string> {
    clearTimeout(this.#closing);
    const opening = (this.#opening ??= this.#open());
    try {
      const { base } = await opening;
      clearTimeout(this.#closing);
      this.#closing = setTimeout(() => void this.close(), openMs).unref();
      return base;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#closing);
    const opened = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    opened?.server.close();
    opened?.server.closeAllConnections();
  }

  async #open(): Promise<{ readonly server: Server; readonly base: string }> {
    const [, host = '127.0.0.1', port = '0'] = ofThisMachine.exec(this.#options.preferred) ?? [];
    const server = await listening(host.replace(/^\[|\]$/g, ''), Number(port)).catch(() => listening('127.0.0.1', 0));
    const { address, port: taken } = server.address() as AddressInfo;
    const authority = `${address.includes(':') ? `[${address}]` : address}:${taken}`;
    const base = `http://${authority}`;
    const site = await this.#options.site(() => base);
    server.on('request', (request, response) => {
      // A page with another name that resolves to this address must not read these pages (DNS rebinding).
      if (request.headers.host !== authority || !site.handles(request.url ?? '/'))
        response.writeHead(404, { connection: 'close' }).end();
      else site.handle(request, response, 'local');
    });
    server.unref();
    return { server, base };
  }
}

async function listening(host: string, port: number): Promise<Server> {
  const server = createServer();
  // Among several workers, the pages of this process answer at an address of their own.
  server.listen({ port, host, exclusive: true });
  await once(server, 'listening');
  return server;
}
