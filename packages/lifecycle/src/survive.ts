/**
 * The last boundary. An exception that nobody caught, and a rejected promise that nobody waits for, are bugs of one request;
 * ending the process for them would make them everybody's. What they leave undone has time limits of its own.
 */
export type UncaughtKind = 'rejection' | 'exception';

/** From now on the process goes on after an uncaught exception or rejection. Before this is called, as while a program starts, either ends the process, as Node does by default. */
export function surviveFaults(hear: (kind: UncaughtKind, error: unknown) => void): void {
  process.on('unhandledRejection', (error) => hear('rejection', error));
  process.on('uncaughtException', (error) => hear('exception', error));
}
