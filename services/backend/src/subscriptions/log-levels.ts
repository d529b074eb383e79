/**
 * What a server is told of the levels its clients want (2025-11-25 server/utilities/logging). A connection of one session has that session's
 * level. One that several use is set to the most verbose of theirs, and each call is given what its own client wants; a session that set no
 * level has what the server says of itself, or, once another's level is in force, what is usual. A server of 2026-07-28 is told with every
 * request.
 */
import {
  fault, isLogLevel, logLevels,
  type CallCommand, type ExchangeContext, type ExchangeOutcome, type JsonObject, type LogLevel, type SessionKey,
} from '@omnibus/protocol';
import type { UpstreamConnection } from '../connection/connection.ts';

/** What has to be known of a connection. */
export type LevelledConnection = Pick<UpstreamConnection, 'owner' | 'ask'> & { readonly dialect: Pick<UpstreamConnection['dialect'], 'keepsLogLevel'> };

/** What a session that set no level has where the server's own default is not to be had any more. */
const usualLevel: LogLevel = 'info';

/** A server of 2026-07-28 takes levels with requests, and these are ours to read. */
const taken: ExchangeOutcome = { kind: 'result', result: {} };

export interface LogLevelsOptions<Connection extends LevelledConnection = LevelledConnection> {
  /** All that lead to the server. */
  readonly connections: () => Iterable<Connection>;
  readonly hasLogging: () => boolean;
  /** Sends a request whose answer changes nothing for us. */
  readonly tell: (method: string, params: JsonObject, connection: Connection) => void;
}

export class LogLevels<Connection extends LevelledConnection = LevelledConnection> {
  readonly #options: LogLevelsOptions<Connection>;
  readonly #levels = new Map<SessionKey, LogLevel>();
  /** What requests that stand alone had the server set to, over each connection. */
  readonly #raised = new WeakMap<LevelledConnection, LogLevel>();

  constructor(options: LogLevelsOptions<Connection>) {
    this.#options = options;
  }

  /** Sessions that have set one. */
  get sessions(): Iterable<SessionKey> {
    return this.#levels.keys();
  }

  set(session: SessionKey, level: LogLevel): void {
    // Its server may have been told while the session was.
    if (this.#levels.get(session) !== level) this.#change(session, () => this.#levels.set(session, level));
  }

  /**
   * A session of a server's own endpoint sets a level, and hears what the server says to it (2025-11-25 server/utilities/logging, Error Handling).
   */
  async judged(connection: Connection, { params, context: { session } }: Pick<CallCommand, 'params' | 'context'>): Promise<ExchangeOutcome> {
    const { level } = params;
    if (!isLogLevel(level)) return this.#judgedUnknown(connection, session, params);
    const [before, inForce] = [this.#levels.get(session), this.#mostVerbose];
    this.#levels.set(session, level);
    const isChanged = this.#mostVerbose !== inForce;
    const outcome = !connection.dialect.keepsLogLevel ? taken : await this.#tell(connection, { ...params, level: connection.owner === undefined ? this.#mostVerbose : level });
    if (outcome.kind !== 'error') {
      for (const other of this.#options.connections()) if (other !== connection && (other.owner === undefined ? isChanged : other.owner === session)) this.send(other);
    } else if (before === undefined) this.#levels.delete(session);
    else this.#levels.set(session, before);
    return outcome;
  }

  /** The server says why it does not take it. One that does is told again what was in force: what is to be heard of a call could not be told by such a level. */
  async #judgedUnknown(connection: Connection, session: SessionKey, params: JsonObject): Promise<ExchangeOutcome> {
    const outcome = !connection.dialect.keepsLogLevel ? taken : await this.#tell(connection, params);
    if (outcome.kind === 'error') return outcome;
    const inForce = connection.owner === undefined ? this.#mostVerbose : this.#levels.get(session);
    if (connection.dialect.keepsLogLevel) this.#options.tell('logging/setLevel', { level: inForce ?? usualLevel }, connection);
    return { kind: 'fault', fault: fault('params.invalid', `params.level must be one of ${logLevels.join(', ')}`) };
  }

  #tell(connection: Connection, params: JsonObject): Promise<ExchangeOutcome> {
    this.#raised.delete(connection);
    return connection.ask('logging/setLevel', params);
  }

  remove(session: SessionKey): void {
    this.#change(session, () => this.#levels.delete(session));
  }

  #change(session: SessionKey, change: () => void): void {
    const before = this.#mostVerbose;
    change();
    const isChanged = this.#mostVerbose !== before;
    for (const connection of this.#options.connections()) {
      if (connection.owner === undefined ? isChanged : connection.owner === session) this.send(connection);
    }
  }

  /** Tells the server, also one that has just been connected to. */
  send(connection: Connection): void {
    this.#raised.delete(connection);
    const { owner } = connection;
    const level = owner === undefined ? this.#mostVerbose : this.#levels.get(owner);
    if (level !== undefined && connection.dialect.keepsLogLevel && this.#options.hasLogging()) this.#options.tell('logging/setLevel', { level: level }, connection);
  }

  /**
   * A request that stands alone says with itself which messages it wants; an older server has to be told before (2026-07-28
   * server/utilities/logging).
   * @returns what to wait for, where there is something to tell.
   */
  raise(connection: LevelledConnection, { standsAlone, logLevel }: ExchangeContext): Promise<unknown> | undefined {
    if (!standsAlone || logLevel === undefined || !connection.dialect.keepsLogLevel || !this.#options.hasLogging()) return undefined;
    // Not lowered when the request has ended: the next one is likely to want the same.
    const current = this.#raised.get(connection) ?? this.#mostVerbose;
    if (current !== undefined && logLevels.indexOf(current) <= logLevels.indexOf(logLevel)) return undefined;
    this.#raised.set(connection, logLevel);
    return connection.ask('logging/setLevel', { level: logLevel });
  }

  /** The least severe messages that the client of a call is to have of it; undefined for all that the server says. */
  least(connection: LevelledConnection, { standsAlone, logLevel }: ExchangeContext): LogLevel | undefined {
    if (logLevel !== undefined || standsAlone || connection.owner !== undefined || !connection.dialect.keepsLogLevel) return logLevel;
    return this.#levels.size > 0 || this.#raised.has(connection) ? usualLevel : undefined;
  }

  /** Of a connection that several use; undefined while nobody asked. */
  get #mostVerbose(): LogLevel | undefined {
    if (this.#levels.size === 0) return undefined;
    let least = logLevels.indexOf(usualLevel);
    for (const level of this.#levels.values()) least = Math.min(least, logLevels.indexOf(level));
    return logLevels[least];
  }
}
