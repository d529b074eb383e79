export { configJsonSchema } from './schema.ts';
export type { Config, ProfileConfig, ServerConfig } from './schema.ts';
export { formatProblem, loadConfig } from './load.ts';
export type { ConfigProblem, ConfigSource, LoadResult } from './load.ts';
export { migrateConfig } from './migrate.ts';
export { readConfigFile } from './read-file.ts';
export { watchConfigFile } from './watch.ts';
export { diffServers, enabledServers, restartOptions } from './diff.ts';
export type { ServerChanges } from './diff.ts';
