import { pino, type Logger as PinoLogger } from 'pino';
import pretty from 'pino-pretty';

export type Logger = PinoLogger;
export type LogFormat = 'auto' | 'json' | 'pretty';

export interface LoggerOptions {
  readonly level: string;
  /** `auto`: pretty on a terminal, JSON elsewhere. */
  readonly format: LogFormat;
}

/** Headers and settings that hold secrets never reach a log, wherever in a record they stand. */
const secretPaths = ['authorization', 'headers.authorization', 'headers.cookie', '*.headers.authorization', '*.headers.cookie', 'env', '*.env'];

/** Logs go to stderr: stdout belongs to the banner, and to the protocol where stdio carries it. */
export function createLogger({ level, format }: LoggerOptions): Logger {
  const options = { level, base: null, redact: { paths: secretPaths, censor: '[secret]' } };
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  return isPretty
    ? pino(options, pretty({ destination: 2, colorize: process.stderr.isTTY, translateTime: 'HH:MM:ss.l', ignore: 'role' }))
    : pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ fd: 2, sync: false }));
}
