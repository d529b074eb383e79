/** The log level of a client with a session (2025-11-25 server/utilities/logging). */
import {
  fault,
  isLogLevel,
  logLevels,
  type ExchangeOutcome,
  type GatewayFault,
  type JsonObject,
  type LogLevel,
  type ServerName,
} from '@omnibus/protocol';

export interface ClientLogLevelOptions {
  /** Sends `logging/setLevel` to a server on behalf of the session. */
  readonly ask: (server: ServerName, params: JsonObject, settled: (outcome: ExchangeOutcome) => void) => void;
  /** Publishes the level to all adapters of a server. */
  readonly tell: (server: ServerName, level: LogLevel) => void;
  readonly changed: () => void;
}

/** Sink for the answer to `logging/setLevel`. */
export interface LevelAnswer {
  answerMember(member: string): void;
  refuse(gatewayFault: GatewayFault): void;
}

export class ClientLogLevel {
  readonly #options: ClientLogLevelOptions;
  /** The present level; undefined when the client has set none. */
  current: LogLevel | undefined;

  constructor(options: ClientLogLevelOptions) {
    this.#options = options;
  }

  wants({ level }: JsonObject): boolean {
    return (
      this.current === undefined || !isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(this.current)
    );
  }

  /** Sets the level. A single server answers itself whether it accepts the level; with several servers the gateway answers. */
  set(params: JsonObject, servers: readonly ServerName[], answer: LevelAnswer): void {
    const [only] = servers;
    if (only !== undefined && servers.length === 1)
      this.#options.ask(only, params, (outcome) => this.#answer(params, servers, outcome, answer));
    else this.#answer(params, servers, { kind: 'result', result: {} }, answer);
  }

  /** Publishes the level again, for adapters that have come since. */
  tell(server: ServerName): void {
    if (this.current !== undefined) this.#options.tell(server, this.current);
  }

  #answer({ level }: JsonObject, servers: readonly ServerName[], outcome: ExchangeOutcome, answer: LevelAnswer): void {
    if (outcome.kind === 'error') answer.answerMember(`"error":${JSON.stringify(outcome.error)}`);
    else if (!isLogLevel(level))
      answer.refuse(
        outcome.kind === 'fault'
          ? outcome.fault
          : fault('params.invalid', `params.level must be one of ${logLevels.join(', ')}`),
      );
    else {
      this.current = level;
      this.#options.changed();
      for (const server of servers) this.tell(server);
      // An unreachable one gets it later.
      answer.answerMember(`"result":${outcome.kind === 'result' ? JSON.stringify(outcome.result) : '{}'}`);
    }
  }
}
