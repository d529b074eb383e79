import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { GatewayFault } from '@omnibus/protocol';
import { fault } from '@omnibus/protocol';
import type { ByteLease } from '../../bounds/byte-budget.ts';

export interface FrameBounds {
  readonly lease: ByteLease;
  /** Milliseconds in which a message has to arrive completely, as a request over HTTP. */
  readonly requestMs: number;
  /** Called when there is no room for more of a message, or its time is over. */
  readonly exceeded: (gatewayFault: GatewayFault) => void;
}

/** Pieces smaller than this take much more memory than their bytes. */
const smallPieceBytes = 512;
/** Small pieces of one message that count as their bytes only. */
const freePieces = 64;
/** Bytes that a kept piece takes beside its own. */
const pieceBytes = 256;

/** Bounds the size and time of incomplete messages, which the WebSocket library keeps in memory. */
export function boundFrames(webSocket: WebSocket, socket: Socket, { lease, requestMs, exceeded }: FrameBounds): void {
  /** Time at which the incomplete message began; undefined while there is none. */
  let begunAt: number | undefined;
  /** A single timer, however many messages come; when it fires, the time of the present message is checked. */
  let limit: NodeJS.Timeout | undefined;
  const look = (): void => {
    limit = undefined;
    if (begunAt === undefined) return;
    const leftMs = begunAt + requestMs - performance.now();
    if (leftMs > 0) limit = setTimeout(look, leftMs).unref();
    else exceeded(fault('http.timeout', 'the message did not arrive whole within timeouts.request'));
  };
  /** Small pieces of the present message. */
  let pieces = 0;
  const count = (chunk: Buffer): void => {
    if (chunk.length < smallPieceBytes) pieces += 1;
    const isOdd = chunk.length < smallPieceBytes && pieces > freePieces;
    if (!lease.add(isOdd ? chunk.length + pieceBytes : chunk.length)) {
      exceeded(fault('gateway.busy'));
      return;
    }
    begunAt ??= performance.now();
    limit ??= setTimeout(look, requestMs).unref();
  };
  // Before the WebSocket reads it, which says at once when a message is whole.
  socket.prependListener('data', count);
  const whole = (): void => {
    begunAt = undefined;
    pieces = 0;
    lease.release();
  };
  webSocket.on('message', whole);
  // Pings may stand between the frames of a message and end none; they are small, and not stored.
  const small = (data: Buffer): void => {
    if (lease.forget(data.length + controlHeaderBytes) > 0) return;
    begunAt = undefined;
    pieces = 0;
  };
  webSocket.on('ping', small);
  webSocket.on('pong', small);
  webSocket.once('close', () => {
    clearTimeout(limit);
    socket.off('data', count);
    lease.release();
  });
}

/** RFC 6455, 5.2: two bytes, and the mask of a client. */
const controlHeaderBytes = 6;
