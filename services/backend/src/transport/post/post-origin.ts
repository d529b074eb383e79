/**
 * Sends POSTs to one origin over connections that are kept for later ones. Requests are written in the check phase of the event loop, after it has
 * read all sockets. So a connection that its server has closed meanwhile carries no further request, whose outcome would be unknown.
 */
import type { Socket } from 'node:net';
import { Ring } from '@omnibus/collections';
import type { buildConnector } from 'undici';
import { PostConnection, type Post, type PostConnectionPort } from './post-connection.ts';

/** Milliseconds between two looks for connections that were idle too long. */
const lookMs = 1_000;

export class PostOrigin implements PostConnectionPort {
  /** The value of `Host`. */
  readonly host: string;
  readonly #target: buildConnector.Options;
  readonly #connect: buildConnector.connector;
  readonly #unused: () => void;
  /** Posts that have no connection yet. A `Set` would wear out, and promote objects of calls (`Ring`). */
  readonly #waiting = new Ring<Post>();
  /** Those of them that are written in this turn of the event loop. */
  #posts: Post[] = [];
  /** Connections whose response has ended in this turn. */
  #freed: PostConnection[] = [];
  /** Those of the turn before: if their servers close them with the response, they have closed by the next turn. */
  #settling: PostConnection[] = [];
  /** Connections without a request, the one that was used last at the end. */
  readonly #idle: PostConnection[] = [];
  readonly #open = new Set<PostConnection>();
  #isFlushing = false;
  #isDestroyed = false;
  #look: NodeJS.Timeout | undefined;

  /** @param unused the origin has no connection and no POST any more: it can be forgotten. */
  constructor({ protocol, host, hostname, port }: URL, connect: buildConnector.connector, unused: () => void) {
    this.host = host;
    this.#target = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port };
    this.#connect = connect;
    this.#unused = unused;
  }

  send(post: Post): void {
    this.#waiting.add(post);
    this.#posts.push(post);
    this.#flushSoon();
  }

  destroy(error: Error): void {
    this.#isDestroyed = true;
    clearInterval(this.#look);
    for (const connection of this.#open) connection.close();
    for (const post of this.#waiting.toArray()) {
      this.#waiting.remove(post);
      post.fail(error);
    }
    this.#posts = [];
  }

  free(connection: PostConnection): void {
    this.#freed.push(connection);
    this.#flushSoon();
  }

  closed(connection: PostConnection): void {
    this.#open.delete(connection);
    this.#checkUse();
  }

  #checkUse(): void {
    if (this.#open.size === 0 && this.#waiting.size === 0) this.#unused();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    const posts = this.#posts;
    this.#isFlushing = false;
    for (const connection of this.#settling) if (connection.isOpen) this.#idle.push(connection);
    this.#settling = this.#freed;
    this.#freed = [];
    this.#posts = [];
    for (const post of posts) {
      const connection = this.#takeIdle();
      if (connection !== undefined) {
        this.#waiting.remove(post);
        connection.send(post);
      } else if (!post.wasHeld && this.#posts.length < this.#settling.length) {
        post.wasHeld = true;
        this.#posts.push(post);
      } else this.#openFor(post);
    }
    if (this.#settling.length > 0) this.#flushSoon();
    if (this.#idle.length > 0) this.#look ??= setInterval(() => this.#closeIdle(), lookMs).unref();
  };

  #takeIdle(): PostConnection | undefined {
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      if (last.isOpen && performance.now() < last.idleUntil) return last;
      last.close();
    }
    return undefined;
  }

  #closeIdle(): void {
    const now = performance.now();
    for (const connection of this.#idle.splice(0))
      if (now < connection.idleUntil) this.#idle.push(connection);
      else connection.close();
    if (this.#idle.length > 0) return;
    clearInterval(this.#look);
    this.#look = undefined;
  }

  #openFor(post: Post): void {
    this.#connect(this.#target, (error, socket) => {
      if (this.#isDestroyed) {
        socket?.on('error', () => undefined).destroy();
        return;
      }
      this.#waiting.remove(post);
      if (error !== null) {
        post.fail(error);
        this.#checkUse();
        return;
      }
      const connection = new PostConnection(socket as Socket, this);
      this.#open.add(connection);
      connection.send(post);
    });
  }
}
