/**
 * Sets the log levels of servers (2025-11-25 server/utilities/logging). A connection of one session has the level of that session. A connection that
 * several sessions use has the most verbose of their levels, and each call is passed only the messages that its own client wants. A session that set no
 * level gets the server's choice, or the usual level once another session's level is in force. A server of 2026-07-28 gets the level with every
 * request.
 */
import {
  mannerOf,
  fault,
  isLogLevel,
  logLevels,
  type CallCommand,
  type ExchangeContext,
  type ExchangeOutcome,
  type JsonObject,
  type LogLevel,
  type SessionKey,
} from '@omnibus/protocol';
import type { CallRun, CallStep } from '../../call/steps.ts';
import type { UpstreamConnection } from '../../connection/connection.ts';
import type { Tell } from '../../connection/connection-observer.ts';

/** What must be known of a connection. */
export type LevelledConnection = Pick<UpstreamConnection, 'owner' | 'ask'> & {
  readonly dialect: Pick<UpstreamConnection['dialect'], 'keepsLogLevel'>;
};

/** The level for a session that set none, once the server's own default no longer applies. */
const usualLevel: LogLevel = 'info';

/** The answer where nothing must be sent: a server of 2026-07-28 takes levels with requests, so the gateway judges the level itself. */
const taken: ExchangeOutcome = { kind: 'result', result: {} };

export interface LogLevelsOptions<Connection extends LevelledConnection = LevelledConnection> {
  /** All connections to the server. */
  readonly connections: () => Iterable<Connection>;
  readonly hasLogging: () => boolean;
  /** Sends a request and ignores its answer. @returns a promise of its end; undefined if nothing is sent. */
  readonly tell: (method: string, params: JsonObject, connection: Connection) => Promise<unknown> | undefined;
}

export class LogLevels<Connection extends LevelledConnection = LevelledConnection> {
  readonly #options: LogLevelsOptions<Connection>;
  readonly #levels = new Map<SessionKey, LogLevel>();
  /** The levels that requests without a session have demanded, by connection. */
  readonly #raised = new WeakMap<LevelledConnection, LogLevel>();
  /** The last levels sent to servers, by connection. */
  readonly #told = new WeakMap<LevelledConnection, LogLevel>();
  /** Connections with an unanswered request for a level. */
  readonly #telling = new Map<LevelledConnection, Promise<unknown>>();

  constructor(options: LogLevelsOptions<Connection>) {
    this.#options = options;
  }

  /** Sessions that have set a level. */
  get sessions(): Iterable<SessionKey> {
    return this.#levels.keys();
  }

  set(session: SessionKey, level: LogLevel): void {
    // The server may have answered only after the session changed its level again.
    if (this.#levels.get(session) !== level) this.#change(session, () => this.#levels.set(session, level));
  }

  /** A session at the endpoint of a single server sets a level, and gets the server's own answer (2025-11-25 server/utilities/logging, Error Handling). */
  async judged(
    connection: Connection,
    { params, context: { session } }: Pick<CallCommand, 'params' | 'context'>,
  ): Promise<ExchangeOutcome> {
    const { level } = params;
    if (!isLogLevel(level)) return this.#judgedUnknown(connection, session, params);
    const [before, inForce] = [this.#levels.get(session), this.#mostVerbose];
    this.#levels.set(session, level);
    const isChanged = this.#mostVerbose !== inForce;
    const outcome = !connection.dialect.keepsLogLevel
      ? taken
      : await this.#tell(connection, { ...params, level: connection.owner === undefined ? this.#mostVerbose : level });
    if (outcome.kind !== 'error') {
      for (const other of this.#options.connections())
        if (other !== connection && (other.owner === undefined ? isChanged : other.owner === session)) this.send(other);
    } else if (before === undefined) this.#levels.delete(session);
    else this.#levels.set(session, before);
    return outcome;
  }

  /** Passes on an unknown level, so that the server can say why it refuses it. If the server accepts it, the server is set back to the level in force, since the gateway could not decide which messages of a call such a level covers. */
  async #judgedUnknown(connection: Connection, session: SessionKey, params: JsonObject): Promise<ExchangeOutcome> {
    const outcome = !connection.dialect.keepsLogLevel ? taken : await this.#tell(connection, params);
    if (outcome.kind === 'error') return outcome;
    const inForce = connection.owner === undefined ? this.#mostVerbose : this.#levels.get(session);
    if (connection.dialect.keepsLogLevel)
      void this.#options.tell('logging/setLevel', { level: inForce ?? usualLevel }, connection);
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

  /** Tells the server its level. */
  send(connection: Connection): void {
    this.#raised.delete(connection);
    const level = this.#levelOf(connection);
    if (level === undefined || !connection.dialect.keepsLogLevel || !this.#options.hasLogging()) return;
    const telling = this.#options.tell('logging/setLevel', { level }, connection);
    if (telling === undefined) return;
    this.#told.set(connection, level);
    this.#telling.set(connection, telling);
    void telling.finally(() => (this.#telling.get(connection) === telling ? this.#telling.delete(connection) : false));
  }

  /** A connection is being opened: the server has its level before the first call, as it would have of a client that sets it and then calls. */
  greeted(connection: Connection, ask: Tell): Promise<unknown> | undefined {
    this.#raised.delete(connection);
    this.#told.delete(connection);
    const level = this.#levelOf(connection);
    if (level === undefined || !connection.dialect.keepsLogLevel) return undefined;
    this.#told.set(connection, level);
    return ask('logging/setLevel', { level });
  }

  /** A connection was opened. Its level may have changed meanwhile. */
  opened(connection: Connection): void {
    if (this.#told.get(connection) !== this.#levelOf(connection)) this.send(connection);
  }

  #levelOf({ owner }: LevelledConnection): LogLevel | undefined {
    return owner === undefined ? this.#mostVerbose : this.#levels.get(owner);
  }

  /** @returns what a call has to wait for whose client wants a level; undefined if the server has it. */
  settled(connection: LevelledConnection, context: ExchangeContext): Promise<unknown> | undefined {
    return this.raise(connection, context) ?? this.#telling.get(connection);
  }

  /**
   * Raises the level for a request without a session, which names its level itself; an older server must get it before (2026-07-28
   * server/utilities/logging).
   * @returns a promise to wait for, if the server needs a request.
   */
  raise(connection: LevelledConnection, context: ExchangeContext): Promise<unknown> | undefined {
    const { logLevel } = context;
    if (
      logLevel === undefined ||
      !mannerOf(context).namesLevel ||
      !connection.dialect.keepsLogLevel ||
      !this.#options.hasLogging()
    )
      return undefined;
    // The level is not lowered when the request has ended, since the next request is likely to want the same.
    const current = this.#raised.get(connection) ?? this.#mostVerbose;
    if (current !== undefined && logLevels.indexOf(current) <= logLevels.indexOf(logLevel)) return undefined;
    this.#raised.set(connection, logLevel);
    return connection.ask('logging/setLevel', { level: logLevel });
  }

  /** The least severe level of messages that the client of a call gets; undefined for everything that the server sends. */
  least(connection: LevelledConnection, context: ExchangeContext): LogLevel | undefined {
    const { logLevel } = context;
    if (
      logLevel !== undefined ||
      mannerOf(context).namesLevel ||
      connection.owner !== undefined ||
      !connection.dialect.keepsLogLevel
    )
      return logLevel;
    return this.#levels.size > 0 || this.#raised.has(connection) ? usualLevel : undefined;
  }

  /** The most verbose level of the sessions of a shared connection; undefined while none has set one. */
  get #mostVerbose(): LogLevel | undefined {
    if (this.#levels.size === 0) return undefined;
    let least = logLevels.indexOf(usualLevel);
    for (const level of this.#levels.values()) least = Math.min(least, logLevels.indexOf(level));
    return logLevels[least];
  }
}

/** Calls without a session name their level, and older servers get it before; a session at the endpoint of a single server sets its level by a call. */
export function levelSteps(levels: LogLevels<UpstreamConnection>): CallStep {
  let run: CallRun;
  return {
    join(given) {
      run = given;
    },
    given: 'logLevel',
    prepare: ({ connection, context }) => levels.settled(connection, context),
    least({ running, command: { context } }) {
      return running === undefined ? context.logLevel : levels.least(running.connection, context);
    },
    takes: {
      'logging/setLevel': (attempt) => {
        const { call, connection } = attempt;
        levels
          .judged(connection, call.command)
          .finally(() => attempt.end())
          .then((outcome) => (run.isOpen(call) ? run.finish(call, outcome) : undefined))
          .catch((error: unknown) => run.failed(call, error));
      },
    },
  };
}
