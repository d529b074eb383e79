/**
 * Which resources of one server sessions listen to, over which connection. A server tells of changes over the connection that
 * subscribed, and may know nothing of them on another; one of 2026-07-28 is told of all of them at once.
 */
import { subjects, type Bus } from '@omnibus/bus';
import type { CallCommand, ExchangeOutcome, JsonObject, ServerName, SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';
import { Subscriptions } from './subscriptions.ts';

export interface WatchingOptions {
  readonly bus: Bus;
  readonly server: ServerName;
  /** Sends a request whose answer changes nothing for us. */
  readonly tell: (method: string, params: JsonObject, connection: UpstreamConnection) => void;
}

const invalidParams = -32_602;

export class Watching {
  readonly #options: WatchingOptions;
  readonly #subscriptions = new Map<UpstreamConnection, Subscriptions>();

  constructor(options: WatchingOptions) {
    this.#options = options;
  }

  /** Counts a subscription. @returns true when the server need not be told, since another session listens already or still does. */
  isSettled({ method, params, context }: CallCommand, connection: UpstreamConnection): boolean {
    const uri = params['uri'] as string;
    if (method === 'resources/subscribe') return !this.#of(connection).add(uri, context.session);
    if (method === 'resources/unsubscribe') return !this.#of(connection).remove(uri, context.session);
    return false;
  }

  /** A server of 2026-07-28 is told anew what to tell of. Resolves with the answer to the call that changed it. */
  async change({ method, params, context }: CallCommand, connection: UpstreamConnection): Promise<ExchangeOutcome> {
    const uri = params['uri'] as string;
    const taken = await connection.watch([...this.#of(connection).uris]);
    if (method !== 'resources/subscribe' || taken.includes(uri)) return { kind: 'result', result: {} };
    this.#of(connection).remove(uri, context.session);
    return { kind: 'error', error: { code: invalidParams, message: 'the server does not tell of changes of this resource', data: { uri } } };
  }

  /** The server has not taken a subscription. */
  refused({ params, context }: CallCommand, connection: UpstreamConnection): void {
    this.#of(connection).remove(params['uri'] as string, context.session);
  }

  /** After a reconnect the server has forgotten what it was to tell of. */
  again(connection: UpstreamConnection): void {
    const uris = [...this.#of(connection).uris];
    if (!connection.isModern) for (const uri of uris) this.#options.tell('resources/subscribe', { uri }, connection);
    else if (uris.length > 0) void connection.watch(uris);
  }

  updated(connection: UpstreamConnection, uri: string): void {
    const { bus, server } = this.#options;
    const sessions = this.#of(connection).listeners(uri);
    if (sessions.length > 0) bus.publish(subjects.notices, { kind: 'resource-updated', server, uri, sessions });
  }

  /** What the server may have said while nobody listened is told as if it had. */
  missed(connection: UpstreamConnection): void {
    for (const uri of this.#of(connection).uris) this.updated(connection, uri);
  }

  isNeeded(connection: UpstreamConnection): boolean {
    return this.#subscriptions.get(connection)?.isEmpty === false;
  }

  forgetSession(session: SessionKey): void {
    for (const [connection, subscriptions] of this.#subscriptions) {
      const left = subscriptions.removeSession(session);
      if (!connection.isModern) for (const uri of left) this.#options.tell('resources/unsubscribe', { uri }, connection);
      else if (left.length > 0) void connection.watch([...subscriptions.uris]);
      if (subscriptions.isEmpty) this.#subscriptions.delete(connection);
    }
  }

  #of(connection: UpstreamConnection): Subscriptions {
    const known = this.#subscriptions.get(connection);
    if (known !== undefined) return known;
    const made = new Subscriptions();
    this.#subscriptions.set(connection, made);
    return made;
  }
}
