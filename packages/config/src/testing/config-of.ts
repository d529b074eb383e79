import { loadConfig, type ConfigSource, type LoadedConfig, type LoadResult } from '../load.ts';
import type { Config } from '../schema.ts';

/** What options, or the text of a file with them, come to. */
export function loadOptions(options: object | string, more: Partial<ConfigSource> = {}): LoadResult {
  const text = typeof options === 'string' ? options : JSON.stringify(options);
  return loadConfig({ file: 'omnibus.yaml', text, env: {}, readFile: () => '', ...more });
}

/** The same for options that are right. @throws {Error} with their problems. */
export function loadedFrom(options: object | string, more?: Partial<ConfigSource>): LoadedConfig {
  const loaded = loadOptions(options, more);
  if ('problems' in loaded) throw new Error(loaded.problems.map(({ message }) => message).join('; '));
  return loaded;
}

export function configOf(options: object | string): Config {
  return loadedFrom(options).config;
}
