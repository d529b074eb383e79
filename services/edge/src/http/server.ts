/**
 * The HTTP server for clients, with its time limits, the bounds of connections, and answers for input that is not a valid request. Each socket has a
 * listener for errors from the start, since an error without a listener would end the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsOptions } from 'node:tls';
import { errorText, fault, httpStatusOf, toErrorObject, type GatewayFault, type Limits } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { addressKey, type ClientAddresses } from '../callers/client-address.ts';
import { answerRaw } from './raw-answer.ts';

export interface ClientServerOptions {
  readonly limits: Limits;
  /** Milliseconds in which a request has to arrive completely. */
  readonly requestMs: number;
  readonly metrics: Metrics;
  readonly addresses: ClientAddresses;
  /** Number of files that this process may have open; undefined where that is not known. */
  readonly maxFiles: number | undefined;
  /** Undefined where clients connect without TLS. */
  readonly tls: TlsOptions | undefined;
  /** @param waitsForContinue whether the client waits for `100 Continue`. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, waitsForContinue: boolean) => void;
  readonly handleUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** Milliseconds that idle connections stay open: longer than at load balancers, so that the gateway does not close one during a request. */
const keepAliveMs = 75_000;
/** Milliseconds between two checks for requests that take too long; a check is expensive with many connections. */
const checkEveryMs = 2_000;
/** Files that are reserved for the admin port, the bus, and servers. */
const reservedFiles = 512;

export function createClientServer(options: ClientServerOptions): Server {
  const { limits, metrics, addresses, maxFiles, handle } = options;
  const server = listenerOf(options);
  // Their bytes are bounded; beyond a number, Node would drop some without a word.
  server.maxHeadersCount = 0;
  server.maxConnections =
    maxFiles === undefined
      ? limits.maxConnections
      : Math.min(limits.maxConnections, Math.max(1, maxFiles - reservedFiles));
  server.on('drop', () => metrics.connectionRefused('all'));
  /** The last response of each socket; a raw answer must not be written into it. */
  const responses = new WeakMap<Duplex, ServerResponse>();
  const receive = (request: IncomingMessage, response: ServerResponse, waitsForContinue = false): void => {
    responses.set(request.socket, response);
    const { upgrade, 'transfer-encoding': coding } = request.headers;
    // Nothing after such a request can be read on its connection, and its client must know: a transfer coding that leaves the end of the body
    // unknown (RFC 9112, 6.3), or a wish for another protocol, after which Node reads no further request.
    if (upgrade !== undefined || (coding !== undefined && coding.trim().toLowerCase() !== 'chunked'))
      response.shouldKeepAlive = false;
    handle(request, response, waitsForContinue);
  };
  server.on('request', receive);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => receive(request, response, true));
  answerOthers(server, options, responses);
  boundShares(server, limits.maxConnectionsPerAddress, addresses, metrics);
  const disconnected = (): void => metrics.connections.dec();
  server.on('connection', (socket: Socket) => {
    metrics.connections.inc();
    // Not `once`, which keeps two more objects for each connection.
    socket.on('close', disconnected);
  });
  return server;
}

function listenerOf({ limits, requestMs, tls }: ClientServerOptions): Server {
  const options = {
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: requestMs / 4,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkEveryMs,
    keepAliveTimeout: keepAliveMs,
    // A wish for another protocol may be ignored (RFC 9110, 7.8).
    shouldUpgradeCallback: ({ method, headers: { upgrade } }: IncomingMessage) =>
      method === 'GET' && upgrade?.toLowerCase() === 'websocket',
  };
  return tls === undefined
    ? createServer(options)
    : createSecureServer({ ...options, ...tls, handshakeTimeout: requestMs / 4 });
}

/** Answers other input than requests to endpoints: expectations, tunnels, upgrades, and input that is not HTTP. */
function answerOthers(
  server: Server,
  { metrics, tls, handleUpgrade }: ClientServerOptions,
  responses: WeakMap<Duplex, ServerResponse>,
): void {
  /** Sockets with a failed TLS handshake, on which no HTTP answer is possible. */
  const unsecured = new WeakSet<Duplex>();
  // This event comes before `clientError`.
  if (tls !== undefined)
    server.prependListener('tlsClientError', (_error: Error, socket: Duplex) => {
      unsecured.add(socket);
      metrics.tlsHandshakesFailed.inc();
    });
  const refuse = (socket: Duplex, gatewayFault: GatewayFault, headers: readonly string[] = []): void => {
    metrics.refused(gatewayFault.reason);
    answerRaw(socket, gatewayFault, headers);
  };
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const gatewayFault = fault('http.expectation');
    const text = errorText(undefined, toErrorObject(gatewayFault));
    metrics.refused(gatewayFault.reason);
    response
      .writeHead(httpStatusOf(gatewayFault.reason), {
        connection: 'close',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      })
      .end(text);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', ignoreBroken);
    refuse(socket, fault('http.method_not_allowed', 'this is no proxy'), ['allow: POST, GET, DELETE, OPTIONS']);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', ignoreBroken);
    handleUpgrade(request, socket, head);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    socket.on('error', ignoreBroken);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && (socket as Socket).bytesRead === 0) {
      closeUnused(socket as Socket);
      return;
    }
    const response = responses.get(socket);
    const isAnswering = response !== undefined && response.headersSent && !response.writableFinished;
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering || unsecured.has(socket)) socket.destroy();
    else refuse(socket, faultOf(error));
  });
}

/**
 * Closes a connection without an answer if no request comes as long as one may stay away between two requests. For Node the first request begins with the
 * connection, and a 408 could meet one that is on its way (RFC 9110, 15.5.9). With the first byte Node looks at its time again.
 */
function closeUnused(socket: Socket): void {
  const timer = setTimeout(() => {
    if (socket.bytesRead === 0) socket.destroy();
  }, keepAliveMs).unref();
  socket.on('close', () => clearTimeout(timer));
}

/** Ignores errors of a broken connection; its `close` event follows. */
function ignoreBroken(): void {
  // The client is gone.
}

/** Closes connections that one address opens beyond its share. */
function boundShares(server: Server, maxShare: number, addresses: ClientAddresses, metrics: Metrics): void {
  /** Number of connections by address. */
  const counts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined || addresses.isProxy(socket)) return;
    const address = addressKey(socket.remoteAddress);
    const count = counts.get(address) ?? 0;
    if (count >= maxShare) {
      metrics.connectionRefused('address');
      socket.destroy();
      return;
    }
    counts.set(address, count + 1);
    socket.on('close', () => {
      const left = (counts.get(address) as number) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
  });
}

function faultOf({ code }: NodeJS.ErrnoException): GatewayFault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return fault('http.headers_too_large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return fault('http.timeout');
    default:
      return fault('http.invalid');
  }
}
