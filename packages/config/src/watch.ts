import { watch as watchFiles } from 'chokidar';
import { readConfigFile, type ReadOptions } from './read-file.ts';
import type { LoadedConfig } from './load.ts';
import { fileProblem, type ConfigProblem } from './problem.ts';
import type { Config } from './schema.ts';

export interface ConfigObserver {
  changed(config: Config, loaded: LoadedConfig): void;
  /** The file cannot be used as it is now; what ran before goes on. */
  rejected(problems: readonly ConfigProblem[]): void;
  /** Called, in words for the operator, when changes of the file cannot be noticed. */
  unfollowed(problem: string): void;
}

export interface FollowedConfig {
  /** Reads the file now, whether or not it has changed. @returns its problems. */
  reload(): Promise<readonly ConfigProblem[]>;
  close(): Promise<void>;
}

/** During a write the file is empty for a moment, and without rules all callers may do everything: an empty file is no change. */
const emptyProblem = (file: string): ConfigProblem =>
  fileProblem(file, 'the file is empty; write "mcpServers: {}" for a gateway without servers');
const isEmpty = (given: unknown): boolean =>
  typeof given === 'object' && given !== null && Object.keys(given).length === 0;

/** Follows a configuration file, also through the symbolic links of a Kubernetes ConfigMap. Resolves when watching. */
export async function watchConfigFile(
  file: string,
  observer: ConfigObserver,
  how: ReadOptions = {},
): Promise<FollowedConfig> {
  const watcher = watchFiles(file, {
    ignoreInitial: true,
    awaitWriteFinish: { stabilityThreshold: 100, pollInterval: 25 },
  });
  /** The reading that goes on: the next one waits for it, so that the newest content is applied last. */
  let reading: Promise<unknown> = Promise.resolve();
  const read = async (): Promise<readonly ConfigProblem[]> => {
    const found = await readConfigFile(file, how);
    const result = 'config' in found && isEmpty(found.given) ? { problems: [emptyProblem(file)] } : found;
    if ('problems' in result) {
      observer.rejected(result.problems);
      return result.problems;
    }
    observer.changed(result.config, result);
    return [];
  };
  const reload = (): Promise<readonly ConfigProblem[]> => {
    const next = reading.then(read);
    reading = next.catch(() => undefined);
    return next;
  };
  // A program that replaces the file may remove it first: what is there then is read.
  for (const event of ['change', 'add', 'unlink'] as const) watcher.on(event, () => void reload());
  // The system has no more watches, for example.
  watcher.on('error', (error) => observer.unfollowed((error as Error).message));
  await new Promise<void>((resolve) => {
    watcher.once('ready', () => resolve());
  });
  return { reload, close: () => watcher.close() };
}
