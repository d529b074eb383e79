/**
 * Messages on the connection between the supervisor of a gateway and one of its workers. Each is a frame: the bytes of its head and of its body as two
 * numbers of 32 bits, the head as JSON, and the body as it is. Both ends are processes of one gateway, of one version.
 */
import type { Duplex } from 'node:stream';
import { maxMessageBytes } from '../codec.ts';
import { BusError } from '../errors.ts';

const prefixBytes = 8;
/** Bound on a head: a subject or a key, and numbers. */
const maxHeadBytes = 64 * 1024;
/**
 * Bound on the bytes that wait for the other process. One message of any size may be added below it.
 * NATS uses the same bound for the messages that wait for a slow client.
 */
const maxWaitingBytes = 64 * 1024 * 1024;
const noBody = new Uint8Array(0);

export interface FrameOptions<Heard> {
  /** Receives each frame. The body is part of a larger buffer: a receiver that keeps it makes a copy. An error that it throws ends the connection. */
  readonly hear: (head: Heard, body: Buffer) => void;
  /** Called once when the connection has ended. @param problem undefined if one of both ends closed it in order. */
  readonly ended: (problem: Error | undefined) => void;
}

export class Frames<Said, Heard> {
  readonly #stream: Duplex;
  readonly #hear: FrameOptions<Heard>['hear'];
  readonly #closed = Promise.withResolvers<void>();
  #chunks: Buffer[] = [];
  /** Bytes of `#chunks`. */
  #size = 0;
  /** Bytes that the next step needs: a prefix, or a whole frame. */
  #needs = prefixBytes;
  #isCorked = false;
  #isEnding = false;

  constructor(stream: Duplex, { hear, ended }: FrameOptions<Heard>) {
    this.#stream = stream;
    this.#hear = hear;
    let problem: Error | undefined;
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('end', () => stream.end());
    stream.on('error', (error) => {
      problem = error;
    });
    stream.on('close', () => {
      this.#isEnding = true;
      this.#closed.resolve();
      ended(problem);
    });
  }

  /** Whether no more frames can be sent. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Whether so much waits for the other process that it takes no more messages. */
  get isFull(): boolean {
    return this.#stream.writableLength > maxWaitingBytes;
  }

  /** @throws {BusError} `payload-too-large` */
  send(head: Said, body: Uint8Array = noBody): void {
    if (this.#isEnding) return;
    const text = JSON.stringify(head);
    const headBytes = Buffer.byteLength(text);
    if (body.length > maxMessageBytes || headBytes > maxHeadBytes)
      throw new BusError('payload-too-large', `a message between workers has ${maxMessageBytes} bytes at most`);
    const start = Buffer.allocUnsafe(prefixBytes + headBytes);
    start.writeUInt32LE(headBytes, 0);
    start.writeUInt32LE(body.length, 4);
    start.write(text, prefixBytes);
    this.#cork();
    this.#stream.write(start);
    if (body.length > 0) this.#stream.write(body);
  }

  /** Sends waiting frames, then closes. Resolves when the connection has ended. */
  end(): Promise<void> {
    if (!this.#isEnding) {
      this.#isEnding = true;
      this.#stream.end();
    }
    return this.#closed.promise;
  }

  /** Closes at once. */
  destroy(problem: Error): void {
    this.#isEnding = true;
    this.#stream.destroy(problem);
  }

  /** The frames of one turn of the event loop leave together. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    setImmediate(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    try {
      // Chunks are joined once, when a whole frame is there: a large message consists of thousands.
      while (this.#size >= this.#needs && !this.#stream.destroyed) this.#read();
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #read(): void {
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#size);
    let at = 0;
    while (bytes.length - at >= prefixBytes) {
      const [headBytes, bodyBytes] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
      if (headBytes > maxHeadBytes || bodyBytes > maxMessageBytes)
        throw new BusError('undecodable', 'a frame between workers is larger than it may be');
      const bodyAt = at + prefixBytes + headBytes;
      if (bytes.length < bodyAt + bodyBytes) break;
      const head = JSON.parse(bytes.toString('utf8', at + prefixBytes, bodyAt)) as Heard;
      at = bodyAt + bodyBytes;
      this.#hear(head, bytes.subarray(bodyAt, at));
    }
    const rest = bytes.subarray(at);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    this.#needs = rest.length < prefixBytes ? prefixBytes : prefixBytes + rest.readUInt32LE(0) + rest.readUInt32LE(4);
  }
}
