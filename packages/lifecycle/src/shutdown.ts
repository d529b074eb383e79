/** Ends a process in order on SIGINT or SIGTERM; a second SIGINT (Ctrl-C again), or the limit, ends it at once. */
export interface ShutdownOptions {
  /** Stops accepting, finishes, closes. */
  readonly stop: (signal: string) => Promise<void>;
  /** Milliseconds `stop` may take. */
  readonly limitMs: number;
  readonly onForced: (reason: string) => void;
}

export function stopOnSignal({ stop, limitMs, onForced }: ShutdownOptions): void {
  let stopping = false;
  const force = (reason: string): void => {
    onForced(reason);
    process.exit(1);
  };
  const begin = (signal: string): void => {
    if (stopping) {
      if (signal === 'SIGINT') force('a second SIGINT');
      return;
    }
    stopping = true;
    setTimeout(() => force(`not stopped within ${limitMs} ms`), limitMs).unref();
    stop(signal).then(
      () => process.exit(0),
      (error: unknown) => force(String(error)),
    );
  };
  process.on('SIGINT', () => begin('SIGINT'));
  process.on('SIGTERM', () => begin('SIGTERM'));
}
