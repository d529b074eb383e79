import type { WebSocket } from 'ws';

export interface OutgoingOptions {
  /** Frames that may wait for the client before reading from it is paused. */
  readonly maxWaiting: number;
  /** Bytes that may wait before it is disconnected. */
  readonly maxBufferedBytes: number;
  readonly cutOff: () => void;
  /** Called after each write. */
  readonly wrote: () => void;
  /** Called when the network has accepted data for a client with paused reading, which hides its pongs. */
  readonly taken: () => void;
}

/**
 * Sends messages to one client on a WebSocket. Reading from a client that does not read its own messages is paused, so that it cannot cause unlimited
 * work; over HTTP, Node does the same while answers are waiting.
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

  /** Whether a message may be written. @returns false when the client does not read and was disconnected. */
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
