import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorText, httpStatusOf, toErrorObject, type GatewayFault } from '@omnibus/protocol';

/** Writes a refusal to a socket without a parsed HTTP request and closes it, as Node's HTTP server does. The socket must have a listener for errors. */
export function answerRaw(socket: Duplex, gatewayFault: GatewayFault, headers: readonly string[] = []): void {
  const body = errorText(undefined, toErrorObject(gatewayFault));
  const status = httpStatusOf(gatewayFault.reason);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
