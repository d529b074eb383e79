/** Ends a process in order on SIGINT or SIGTERM; a second SIGINT (Ctrl-C again), or the limit, ends it at once. */
export interface ShutdownOptions {
  /** Stops accepting, finishes, closes. */
  readonly stop: (signal: string) => Promise<void>;
  /** Milliseconds `stop` may take. */
  readonly limitMs: number;
  readonly onForced: (reason: string) => void;
  /** The signals that end the process. Default: both. */
  readonly signals?: readonly ('SIGINT' | 'SIGTERM')[];
}

/** Pauses in milliseconds in which operations on files may end when everything else has stopped: lines of the log are written at once, anything else has the longer one. */
const pausesMs = [20, 1_000] as const;
/** Milliseconds that the last line of the log has. */
const farewellMs = 100;

/** @returns a function that ends the process in order, with the reason. */
export function stopOnSignal({
  stop,
  limitMs,
  onForced,
  signals = ['SIGINT', 'SIGTERM'],
}: ShutdownOptions): (reason: string) => void {
  let stopping = false;
  const force = (reason: string): void => {
    onForced(reason);
    end(1, onForced);
  };
  const begin = (signal: string): void => {
    if (stopping) {
      if (signal === 'SIGINT') force('a second SIGINT');
      return;
    }
    stopping = true;
    setTimeout(() => force(`not stopped within ${limitMs} ms`), limitMs).unref();
    stop(signal).then(
      () => end(0, onForced),
      (error: unknown) => force(String(error)),
    );
  };
  for (const signal of signals) process.on(signal, () => begin(signal));
  return begin;
}

/**
 * Exits. Node waits in `exit` for the threads of operations on files, without end if one never ends, as on a disk that has gone away; so the process is killed
 * where one does not end in time.
 */
function end(
  code: number,
  onForced: ShutdownOptions['onForced'],
  [pauseMs, ...later]: readonly number[] = pausesMs,
): void {
  if (!hasFilesOpen()) process.exit(code);
  if (pauseMs !== undefined) {
    setTimeout(() => end(code, onForced, later), pauseMs);
    return;
  }
  onForced('an operation on a file does not end');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), farewellMs);
}

const hasFilesOpen = (): boolean => process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq'));
