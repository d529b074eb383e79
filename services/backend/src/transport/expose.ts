/**
 * A program that speaks MCP on stdin and stdout, for others than the process that starts it: a WebSocket for each connection, and behind each a
 * program of its own, which ends with it. A text frame is a line of stdin, a line of stdout is a text frame, and what is in them is nobody's business
 * here: ids, sessions and eras are left to the two that talk. So a server behind a WebSocket is to the gateway what it is as a program of its own.
 *
 * It runs in the pods of servers that Kubernetes is to run (`gateway/discovery/pods`), which only the gateway reaches.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { Child, type ChildOptions } from './child-process.ts';
import { Lines } from './lines.ts';
import { Redactor } from './redactor.ts';

export interface ExposeOptions extends Pick<ChildOptions, 'command' | 'args' | 'env' | 'cwd' | 'log'> {
  readonly host: string;
  readonly port: number;
  /** Programs at once; who comes beyond is refused with 503. */
  readonly maxPrograms: number;
  /** Bytes of one message, either way, and of what waits to be read by either side. */
  readonly maxBytes: number;
}

export interface Exposed {
  readonly port: number;
  /** Ends the connections, and the programs behind them. */
  close(): Promise<void>;
}

const subprotocol = 'mcp';
/** RFC 6455, 7.4.1: the endpoint is going away; a kind of message that is not taken; what is too big; what was not to be expected. */
const [goingAway, unsupported, tooBig, unexpected] = [1001, 1003, 1009, 1011];
/** RFC 6455, 5.5: a control frame holds 125 bytes, of which the code takes two; a name of a program may take four a character. */
const maxReason = 30;
/** A connection whose other end is gone without a word is found out by asking it. */
const pingMs = 30_000;

/** Begins to listen. `GET /healthz` answers 200 from then on. */
export async function expose(options: ExposeOptions): Promise<Exposed> {
  const { host, port, maxPrograms, maxBytes } = options;
  const programs = new Set<Child>();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(request.url === '/healthz' ? 200 : 426, { 'content-type': 'text/plain' }).end(request.url === '/healthz' ? 'ready\n' : 'WebSocket only\n');
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxBytes, perMessageDeflate: false, handleProtocols: (asked) => (asked.has(subprotocol) ? subprotocol : false) });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (programs.size >= maxPrograms) socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
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

/** One connection and its program: whichever ends first takes the other with it. */
function serve(client: WebSocket, { maxBytes, command, args, env, cwd, log }: ExposeOptions, programs: Set<Child>): void {
  const child = new Child({ command, args, env, cwd, log, user: undefined, redactor: Redactor.of({ headers: {}, env, args: [...args], url: undefined }) });
  programs.add(child);
  const lines = new Lines({
    maxBytes,
    line: (line) => {
      if (client.readyState !== client.OPEN) return;
      // The other side does not read: what it was to hear is lost with the connection, which it opens again.
      if (client.bufferedAmount > maxBytes) client.terminate();
      else client.send(line, { binary: false });
    },
    tooLong: () => client.close(tooBig, `the program wrote a line of more than ${maxBytes} bytes`),
  });
  child.onOutput((chunk) => lines.read(chunk));
  child.started.catch(() => undefined); // `ended` says why.
  void child.ended.then((problem) => {
    programs.delete(child);
    client.close(unexpected, problem.slice(0, maxReason));
  });
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
    // A newline between the tokens of a message would be the end of a line; in its strings there can be none.
    const problem = child.write(`${data.toString('utf8').replaceAll(/[\r\n]/g, ' ')}\n`, maxBytes);
    if (problem !== undefined) client.close(unexpected, problem.slice(0, maxReason));
  });
  client.on('error', (error) => log.debug({ err: error }, 'a connection broke'));
  client.on('close', () => {
    clearInterval(pings);
    void child.stop();
  });
}
