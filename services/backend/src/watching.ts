/**
 * Which resources of one server sessions listen to, over which connection. A server tells of changes over the connection that
 * subscribed, and may know nothing of them on another; one of 2026-07-28 is told of all of them at once.
 */
import { subjects, type Bus } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { CallCommand, ExchangeOutcome, JsonObject, ServerName, SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';
import { Subscriptions } from './subscriptions.ts';

export interface WatchingOptions {
  readonly bus: Bus;
  readonly server: ServerName;
  readonly wheel: DeadlineWheel;
  /** An update is told to nobody, because there are too many. */
  readonly dropped: () => void;
  /** Sends a request whose answer changes nothing for us. */
  readonly tell: (method: string, params: JsonObject, connection: UpstreamConnection) => void;
}

const invalidParams = -32_602;
/** One resource is told of once in this time, however often it changes: at once, and again at the end if it changed meanwhile. */
const updatePauseMs = 200;
/** Resources of one server that are in such a pause; a server may name any part of what was subscribed. */
const maxPaused = 1_000;

/** An update that was told a moment ago. */
interface Pause {
  changedAgain: boolean;
}

export class Watching {
  readonly #options: WatchingOptions;
  readonly #subscriptions = new Map<UpstreamConnection, Subscriptions>();
  readonly #paused = new WeakMap<UpstreamConnection, Map<string, Pause>>();

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
    const sessions = this.#of(connection).listeners(uri);
    if (sessions.length === 0) return;
    const paused = this.#paused.get(connection) ?? new Map<string, Pause>();
    this.#paused.set(connection, paused);
    const pause = paused.get(uri);
    if (pause !== undefined) {
      pause.changedAgain = true;
      return;
    }
    const { bus, server, wheel, dropped } = this.#options;
    if (paused.size >= maxPaused) {
      dropped();
      return;
    }
    bus.publish(subjects.notices, { kind: 'resource-updated', server, uri, sessions });
    const begun: Pause = { changedAgain: false };
    paused.set(uri, begun);
    wheel.schedule(updatePauseMs, () => {
      paused.delete(uri);
      if (begun.changedAgain) this.updated(connection, uri);
    });
  }

  /** What the server may have said while nobody listened is told as if it had. */
  missed(connection: UpstreamConnection): void {
    for (const uri of this.#of(connection).uris) this.updated(connection, uri);
  }

  /** Sessions that listen to something. */
  get sessions(): SessionKey[] {
    return [...this.#subscriptions.values()].flatMap((subscriptions) => subscriptions.allSessions);
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
