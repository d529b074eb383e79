import { watch as watchFiles } from 'chokidar';
import { readConfigFile, type ReadOptions } from './read-file.ts';
import type { ConfigProblem } from './load.ts';
import type { Config } from './schema.ts';

export interface ConfigObserver {
  changed(config: Config): void;
  /** The file cannot be used as it is now; what ran before goes on. */
  rejected(problems: readonly ConfigProblem[]): void;
}

/** Follows a configuration file, also through the symbolic links of a Kubernetes ConfigMap. Resolves when watching. */
export async function watchConfigFile(file: string, observer: ConfigObserver, how: ReadOptions = {}): Promise<{ close(): Promise<void> }> {
  const watcher = watchFiles(file, { ignoreInitial: true, awaitWriteFinish: { stabilityThreshold: 100, pollInterval: 25 } });
  const reload = (): void => {
    const result = readConfigFile(file, how);
    if ('config' in result) observer.changed(result.config);
    else observer.rejected(result.problems);
  };
  watcher.on('change', reload).on('add', reload);
  await new Promise<void>((resolve) => {
    watcher.once('ready', () => resolve());
  });
  return { close: () => watcher.close() };
}
