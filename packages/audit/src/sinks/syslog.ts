/**
 * Syslog (RFC 5424) over TCP or TLS, each message with its length in front (RFC 6587, 3.4.1; RFC 5425). Syslog gives no answer: a message counts as stored
 * when the connection has taken it, and messages on their way when it breaks may be lost.
 */
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Batch } from '../lines.ts';
import type { Sink } from '../sink.ts';

export interface SyslogSinkOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Undefined for plain TCP; without `ca`, the authorities that Node knows are used. */
  readonly tls: { readonly ca?: string } | undefined;
  readonly hostname: string;
}

/** Facility "log audit" (13), severity "informational" (6). */
const priority = 13 * 8 + 6;
const connectMs = 10_000;
const sendMs = 10_000;

export class SyslogSink implements Sink {
  readonly name: string;
  readonly batch = { lines: 200, bytes: 256 * 1024 } as const;
  readonly #options: SyslogSinkOptions;
  #socket: Socket | undefined;

  constructor(options: SyslogSinkOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async write(lines: Batch): Promise<void> {
    const bytes = Buffer.concat(lines.texts().map((line) => this.#frame(line)));
    const socket = await this.#connected();
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error): void => {
        clearTimeout(limit);
        socket.destroy();
        reject(error);
      };
      const limit = setTimeout(() => failed(new Error('the syslog server takes nothing')), sendMs);
      socket.once('close', () => failed(new Error('the syslog server has closed the connection')));
      socket.write(bytes, (error) => {
        clearTimeout(limit);
        socket.removeAllListeners('close');
        if (error === undefined || error === null) resolve();
        else failed(error);
      });
    });
  }

  close(): Promise<void> {
    this.#socket?.end();
    return Promise.resolve();
  }

  async #connected(): Promise<Socket> {
    if (this.#socket?.writable === true) return this.#socket;
    const { host, port, tls } = this.#options;
    const socket =
      tls === undefined ? connectTcp({ host, port }) : connectTls({ host, port, servername: host, ...tls });
    // An error while nothing is being written shows with the next write.
    socket.on('error', () => socket.destroy());
    socket.resume();
    await Promise.race([
      once(socket, tls === undefined ? 'connect' : 'secureConnect'),
      once(socket, 'close').then(() => Promise.reject(new Error(`no server answers at ${host}:${port}`))),
      timeLimit(),
    ]).catch((error: unknown) => {
      socket.destroy();
      throw error;
    });
    socket.unref();
    this.#socket = socket;
    return socket;
  }

  #frame(line: string): Buffer {
    const { time } = JSON.parse(line) as { readonly time?: unknown };
    const message = Buffer.from(
      `<${priority}>1 ${String(time)} ${this.#options.hostname} omnibus ${process.pid} audit - ${line}`,
    );
    return Buffer.concat([Buffer.from(`${message.length} `), message]);
  }
}

function timeLimit(): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error('the syslog server does not answer')), connectMs).unref();
  });
}
