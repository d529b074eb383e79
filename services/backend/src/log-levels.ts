import { logLevels, type LogLevel, type SessionKey } from '@omnibus/protocol';

/** The levels sessions asked for; the server is set to the most verbose of them, and each session filters its own. */
export class LogLevels {
  readonly #levels = new Map<SessionKey, LogLevel>();

  set(session: SessionKey, level: LogLevel): void {
    this.#levels.set(session, level);
  }

  remove(session: SessionKey): void {
    this.#levels.delete(session);
  }

  /** Undefined while nobody asked. */
  get mostVerbose(): LogLevel | undefined {
    const ranks = [...this.#levels.values()].map((level) => logLevels.indexOf(level));
    return ranks.length === 0 ? undefined : logLevels[Math.min(...ranks)];
  }
}
