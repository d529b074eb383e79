import type { WebSocket } from 'ws';

export interface OutgoingOptions {
  /** Frames that may wait for the client before it is read no further. */
  readonly maxWaiting: number;
  /** Bytes of them, beyond which it is cut off. */
  readonly maxBufferedBytes: number;
  readonly cutOff: () => void;
  /** Something was written. */
  readonly wrote: () => void;
  /** The network took something for a client that is not read at the moment, and so cannot answer a ping. */
  readonly taken: () => void;
}

/**
 * What is said to one client on a WebSocket. A client that takes nothing of what it is told is read no further until it does, so that it
 * cannot make the gateway work without end: as with requests over HTTP, of which Node reads no more while their answers wait.
 */
export class Outgoing {
  readonly #webSocket: WebSocket;
  readonly #options: OutgoingOptions;
  #waiting = 0;

  constructor(webSocket: WebSocket, options: OutgoingOptions) {
    this.#webSocket = webSocket;
    this.#options = options;
  }

  send(text: string): void {
    if (!this.#mayWrite()) return;
    this.#webSocket.send(text, this.#taken);
    this.#written();
  }

  /** Answers a ping. */
  pong(data: Buffer): void {
    if (!this.#mayWrite()) return;
    this.#webSocket.pong(data, false, this.#taken);
    this.#written();
  }

  /** @returns false when the client does not read: it is cut off. */
  #mayWrite(): boolean {
    const { maxBufferedBytes, cutOff } = this.#options;
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return false;
    if (this.#webSocket.bufferedAmount <= maxBufferedBytes) return true;
    cutOff();
    return false;
  }

  #written(): void {
    this.#waiting += 1;
    if (this.#waiting >= this.#options.maxWaiting) this.#webSocket.pause();
    this.#options.wrote();
  }

  readonly #taken = (): void => {
    this.#waiting -= 1;
    if (!this.#webSocket.isPaused) return;
    this.#options.taken();
    if (this.#waiting <= this.#options.maxWaiting / 2) this.#webSocket.resume();
  };
}
