import { watch } from 'chokidar';

export interface FilesObserver {
  /** Some of the files were changed, made or removed. */
  changed(): void;
  /** Called once, in words for the operator, when changes cannot be noticed. */
  unfollowed(problem: string): void;
}

/** Files that belong together are written one after the other, so they are read when nothing more was written for this time. */
const settleMs = 200;

/** Follows files, also through the symbolic links of a Kubernetes Secret. Resolves when they are followed. @returns a function that ends this. */
export async function followFiles(files: readonly string[], observer: FilesObserver): Promise<() => Promise<void>> {
  let later: NodeJS.Timeout | undefined;
  let isTold = false;
  const watcher = watch([...files], { ignoreInitial: true });
  watcher.on('all', () => {
    clearTimeout(later);
    later = setTimeout(() => observer.changed(), settleMs).unref();
  });
  // The system has no more watches, for example.
  watcher.on('error', (error) => {
    if (!isTold)
      observer.unfollowed(
        `changes of ${files.join(', ')} are not noticed until the next start: ${(error as Error).message}`,
      );
    isTold = true;
  });
  await new Promise<void>((resolve) => {
    watcher.once('ready', () => resolve());
  });
  return async () => {
    clearTimeout(later);
    await watcher.close();
  };
}
