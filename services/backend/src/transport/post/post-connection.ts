/** One connection to a server, which carries one POST at a time. */
import type { Socket } from 'node:net';
import { Link } from '@omnibus/collections';
import type { Dispatcher } from 'undici';
import { errors } from '../undici-parts.ts';
import { ResponseParser, ResponseProblem, type ResponseHeaders, type ResponseHears } from './response-parser.ts';

type Handler = Dispatcher.DispatchHandler;

/** One POST, from its dispatch to the end of its response. */
export class Post extends Link implements Dispatcher.DispatchController {
  readonly handler: Handler;
  /** The request as it is written. */
  readonly text: string;
  /** Undefined before it is written, and after its end. */
  connection: PostConnection | undefined;
  aborted = false;
  paused = false;
  /** It has waited once for a connection that may be free soon: it does not do so again. */
  wasHeld = false;
  reason: Error | null = null;
  #isOver = false;

  constructor(handler: Handler, text: string) {
    super();
    this.handler = handler;
    this.text = text;
  }

  abort(reason: Error): void {
    if (this.#isOver) return;
    this.aborted = true;
    this.reason = reason;
    this.fail(reason);
  }

  pause(): void {
    this.paused = true;
    this.connection?.pause();
  }

  resume(): void {
    this.paused = false;
    this.connection?.resume();
  }

  /** @returns whether its handler still wants it. */
  start(): boolean {
    try {
      this.handler.onRequestStart?.(this, null);
    } catch (error) {
      this.fail(error as Error);
    }
    return !this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    this.connection = undefined;
    this.handler.onResponseEnd?.(this, {});
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    const { connection } = this;
    this.#isOver = true;
    this.connection = undefined;
    this.handler.onResponseError?.(this, error);
    connection?.close();
  }
}

export interface PostConnectionPort {
  /** The response has ended, and the connection can carry another request. */
  free(connection: PostConnection): void;
  closed(connection: PostConnection): void;
}

export class PostConnection implements ResponseHears {
  readonly #socket: Socket;
  readonly #port: PostConnectionPort;
  readonly #parser = new ResponseParser(this);
  #post: Post | undefined;
  #problem: Error | undefined;
  /** Until when it may be idle, on the clock of `performance.now()`. */
  idleUntil = 0;

  constructor(socket: Socket, port: PostConnectionPort) {
    this.#socket = socket;
    this.#port = port;
    socket.on('data', this.#read);
    socket.on('end', () => this.#ended());
    socket.on('error', (error) => {
      this.#problem ??= error;
    });
    socket.on('close', () => this.#closed());
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  send(post: Post): void {
    this.#post = post;
    post.connection = this;
    this.#socket.ref();
    if (post.start()) this.#socket.write(post.text);
    else this.close();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  // --- the response ------------------------------------------------------------------------------------------------------------

  head(status: number, headers: ResponseHeaders, message: string): void {
    const post = this.#post;
    if (post === undefined) throw new ResponseProblem('it sent more than it was asked');
    if (post.connection === this) post.handler.onResponseStart?.(post, status, headers, message);
  }

  data(chunk: Buffer): void {
    const post = this.#post;
    if (post?.connection === this) post.handler.onResponseData?.(post, chunk);
  }

  end(keptMs: number): void {
    const post = this.#post;
    this.#post = undefined;
    const wasOver = post?.connection !== this;
    if (!wasOver) post.end();
    if (this.#socket.isPaused()) this.#socket.resume();
    // A server that answers before it has read the request may not read the next one.
    if (keptMs === 0 || wasOver || this.#socket.writableLength > 0) this.close();
    else {
      this.idleUntil = performance.now() + keptMs;
      // An idle connection keeps no process alive: a command ends when it has its answers.
      this.#socket.unref();
      this.#port.free(this);
    }
  }

  readonly #read = (chunk: Buffer): void => {
    try {
      // Bytes without a request belong to no request: the next one must not get them.
      if (this.#post === undefined) throw new ResponseProblem('it sent bytes that no request asked for');
      const isBetween = this.#parser.read(chunk);
      if (this.#post === undefined && !isBetween) throw new ResponseProblem('it sent more than it was asked');
    } catch (error) {
      this.#problem ??= error as Error;
      this.close();
      this.#fail();
    }
  };

  #ended(): void {
    try {
      if (this.#post === undefined || !this.#parser.closed())
        this.#problem ??= new errors.SocketError('other side closed');
    } catch (error) {
      this.#problem ??= error as Error;
    }
    this.close();
  }

  #closed(): void {
    this.#fail();
    this.#port.closed(this);
  }

  #fail(): void {
    const post = this.#post;
    this.#post = undefined;
    post?.fail(this.#problem ?? new errors.SocketError('closed'));
  }
}
