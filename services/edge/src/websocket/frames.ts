import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { ByteLease } from '../byte-budget.ts';

/**
 * Counts what a client has sent of a message that is not whole yet: the WebSocket keeps it until it is.
 * @param full is called when there is no room for more of it.
 */
export function boundFrames(webSocket: WebSocket, socket: Socket, lease: ByteLease, full: () => void): void {
  const count = (chunk: Buffer): void => {
    if (lease.add(chunk.length)) return;
    full();
  };
  // Before the WebSocket reads it, which says at once when a message is whole.
  socket.prependListener('data', count);
  const whole = (): void => lease.release();
  webSocket.on('message', whole);
  // Pings may stand between the frames of a message and end none; they are small, and kept by nobody.
  const small = (data: Buffer): void => lease.forget(data.length + controlHeaderBytes);
  webSocket.on('ping', small);
  webSocket.on('pong', small);
  webSocket.once('close', () => {
    socket.off('data', count);
    lease.release();
  });
}

/** RFC 6455, 5.2: two bytes, and the mask of a client. */
const controlHeaderBytes = 6;
