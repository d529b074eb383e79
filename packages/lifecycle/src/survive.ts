/**
 * The last boundary. An uncaught exception or rejection is usually a bug in the handling of one request; ending the process would extend it to all
 * others. Work that it leaves undone ends by its time limits.
 */
export type UncaughtKind = 'rejection' | 'exception';

/** From now on the process goes on after an uncaught exception or rejection. Before this is called, as while a program starts, either ends the process, as Node does by default. */
export function surviveFaults(hear: (kind: UncaughtKind, error: unknown) => void): void {
  process.on('unhandledRejection', (error) => hear('rejection', error));
  process.on('uncaughtException', (error) => hear('exception', error));
}
