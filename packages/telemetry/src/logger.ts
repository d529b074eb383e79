import { pino, type Logger as PinoLogger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { LogSink } from './log-sink.ts';

export type Logger = PinoLogger;
export type LogFormat = 'auto' | 'json' | 'pretty';

export interface LoggerOptions {
  readonly level: string;
  /** `auto`: text on a terminal, JSON elsewhere. */
  readonly format: LogFormat;
}

/** Headers and settings that contain secrets are removed wherever they are in a log record. */
const secretPaths = [
  'authorization',
  'headers.authorization',
  'headers.cookie',
  '*.headers.authorization',
  '*.headers.cookie',
  'env',
  '*.env',
];

/**
 * Logs go to stderr: stdout is for the banner, and for the protocol over stdio.
 * @param sink takes the lines instead of stderr, each with its line break.
 */
export function createLogger(
  { level, format }: LoggerOptions,
  sink: { write(line: string): void } = new LogSink(process.stderr),
): Logger {
  const options = { level, base: null, redact: { paths: secretPaths, censor: '[secret]' } };
  const { stderr } = process;
  if (format === 'json' || (format === 'auto' && !stderr.isTTY))
    return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  const readable = prettyFactory({ colorize: stderr.isTTY, translateTime: 'HH:MM:ss.l', ignore: 'role' });
  return pino(options, { write: (line: string) => sink.write(readable(line)) });
}
