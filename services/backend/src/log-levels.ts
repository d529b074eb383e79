/**
 * What a server is told of the levels its clients want: it is set to the most verbose of them, and each session filters its
 * own (2025-11-25 server/utilities/logging). A server of 2026-07-28 is told with every request.
 */
import { logLevels, type ExchangeContext, type JsonObject, type LogLevel, type SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';
import { setLevelParams } from './dialect/legacy/messages.ts';

export interface LogLevelsOptions {
  /** All that lead to the server. */
  readonly connections: () => Iterable<UpstreamConnection>;
  readonly hasLogging: () => boolean;
  /** Sends a request whose answer changes nothing for us. */
  readonly tell: (method: string, params: JsonObject, connection: UpstreamConnection) => void;
}

export class LogLevels {
  readonly #options: LogLevelsOptions;
  readonly #levels = new Map<SessionKey, LogLevel>();
  /** What requests that stand alone had the server set to, over each connection. */
  readonly #raised = new WeakMap<UpstreamConnection, LogLevel>();

  constructor(options: LogLevelsOptions) {
    this.#options = options;
  }

  /** Sessions that have set one. */
  get sessions(): Iterable<SessionKey> {
    return this.#levels.keys();
  }

  set(session: SessionKey, level: LogLevel): void {
    this.#change(() => this.#levels.set(session, level));
  }

  remove(session: SessionKey): void {
    this.#change(() => this.#levels.delete(session));
  }

  #change(change: () => void): void {
    const before = this.#mostVerbose;
    change();
    const after = this.#mostVerbose;
    if (after === undefined || after === before) return;
    for (const connection of this.#options.connections()) this.send(connection);
  }

  /** Tells the server, also one that has just been connected to. */
  send(connection: UpstreamConnection): void {
    this.#raised.delete(connection);
    const level = this.#mostVerbose;
    if (level !== undefined && !connection.isModern && this.#options.hasLogging()) this.#options.tell('logging/setLevel', setLevelParams(level), connection);
  }

  /**
   * A request that stands alone says with itself which messages it wants; an older server has to be told before (2026-07-28
   * server/utilities/logging).
   * @returns what to wait for, where there is something to tell.
   */
  raise(connection: UpstreamConnection, { standsAlone, logLevel }: ExchangeContext): Promise<unknown> | undefined {
    if (!standsAlone || logLevel === undefined || connection.isModern || !this.#options.hasLogging()) return undefined;
    // Not lowered when the request has ended: the next one is likely to want the same.
    const current = this.#raised.get(connection) ?? this.#mostVerbose;
    if (current !== undefined && logLevels.indexOf(current) <= logLevels.indexOf(logLevel)) return undefined;
    this.#raised.set(connection, logLevel);
    return connection.ask('logging/setLevel', setLevelParams(logLevel));
  }

  /** Undefined while nobody asked. */
  get #mostVerbose(): LogLevel | undefined {
    const ranks = [...this.#levels.values()].map((level) => logLevels.indexOf(level));
    return ranks.length === 0 ? undefined : logLevels[Math.min(...ranks)];
  }
}
