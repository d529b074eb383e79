/**
 * Serves a program that speaks MCP on stdin and stdout to other processes over WebSockets: each connection has a program of its own, which ends with the
 * connection. A text frame becomes a line of stdin, and a line of stdout a text frame. The contents are not looked at: ids, sessions and eras are left to
 * the two sides. So to the gateway, such a server behaves like a program that it has started itself.
 *
 * This runs in the pods of servers that the gateway makes in Kubernetes (`gateway/discovery/pods`), which only the gateway can reach.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { mostPieces } from '@omnibus/collections';
import { Child, type ChildOptions } from './child-process.ts';
import { Lines } from './lines.ts';
import { Redactor } from './redactor.ts';

export interface ExposeOptions extends Pick<ChildOptions, 'command' | 'args' | 'env' | 'cwd' | 'log'> {
  readonly host: string;
  readonly port: number;
  /** Bound on programs at the same time; further connections are refused with 503. */
  readonly maxPrograms: number;
  /** Bound on the bytes of one message in either direction, and on the bytes that either side has not read. */
  readonly maxBytes: number;
}

export interface Exposed {
  readonly port: number;
  /** Ends the connections and their programs. */
  close(): Promise<void>;
}

const subprotocol = 'mcp';
/** Close codes of RFC 6455, 7.4.1: going away; a kind of message that is not accepted; a message that is too big; an unexpected condition. */
const [goingAway, unsupported, tooBig, unexpected] = [1001, 1003, 1009, 1011];
/** Bytes of a close reason: a control frame has 125 (RFC 6455, 5.5), of which the code takes two (5.5.1). */
const maxReasonBytes = 123;
/** Time between pings, which find connections with a dead peer. */
const pingMs = 30_000;

/** Starts to listen. `GET /healthz` answers 200 from then on. */
export async function expose(options: ExposeOptions): Promise<Exposed> {
  const { host, port, maxPrograms, maxBytes } = options;
  const programs = new Set<Child>();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    response
      .writeHead(request.url === '/healthz' ? 200 : 426, { 'content-type': 'text/plain' })
      .end(request.url === '/healthz' ? 'ready\n' : 'WebSocket only\n');
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxBytes,
    maxBufferedChunks: mostPieces(maxBytes),
    perMessageDeflate: false,
    handleProtocols: (asked) => (asked.has(subprotocol) ? subprotocol : false),
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (programs.size >= maxPrograms)
      socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    else sockets.handleUpgrade(request, socket, head, (client) => serve(client, options, programs));
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      for (const client of sockets.clients) client.close(goingAway);
      await Promise.all([...programs].map((program) => program.stop()));
      for (const client of sockets.clients) client.terminate();
      sockets.close();
      server.closeAllConnections();
    },
  };
}

/** Serves one connection and its program: when either ends, the other is ended too. */
function serve(
  client: WebSocket,
  { maxBytes, command, args, env, cwd, log }: ExposeOptions,
  programs: Set<Child>,
): void {
  const child = new Child({
    command,
    args,
    env,
    cwd,
    log,
    user: undefined,
    redactor: Redactor.of({ headers: {}, env, args: [...args], url: undefined }),
  });
  programs.add(child);
  const lines = new Lines({
    maxBytes,
    line: (line) => {
      if (client.readyState !== client.OPEN) return;
      // The other side does not read. The connection is dropped with the unread messages, and the other side opens a new one.
      if (client.bufferedAmount > maxBytes) client.terminate();
      else client.send(line, { binary: false });
    },
    tooLong: () => client.close(tooBig, `the program wrote a line of more than ${maxBytes} bytes`),
  });
  child.onOutput((chunk) => lines.read(chunk));
  child.talks();
  child.started.catch(() => undefined); // `ended` gives the reason.
  void child.ended.then((problem) => client.close(unexpected, closeReason(problem)));
  void child.gone.then(() => programs.delete(child));
  let isAlive = true;
  const pings = setInterval(() => {
    if (!isAlive) client.terminate();
    isAlive = false;
    client.ping();
  }, pingMs).unref();
  client.on('pong', () => {
    isAlive = true;
  });
  client.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      client.close(unsupported);
      return;
    }
    // A newline between the tokens of a message would end the line; its strings contain none.
    const problem = child.write(`${data.toString('utf8').replaceAll(/[\r\n]/g, ' ')}\n`, maxBytes);
    if (problem !== undefined) client.close(unexpected, closeReason(problem));
  });
  client.on('error', (error) => log.debug({ err: error }, 'a connection broke'));
  client.on('close', () => {
    clearInterval(pings);
    void child.stop();
  });
}

/** The beginning that fits, in whole characters. */
function closeReason(problem: string): string {
  return problem.slice(0, new TextEncoder().encodeInto(problem, new Uint8Array(maxReasonBytes)).read);
}
