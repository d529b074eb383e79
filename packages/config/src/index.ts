export { nearestOf } from './nearest.ts';
export { parseDurationMs as parseDuration } from './duration.ts';
export { configJsonSchema, ignoredServerKeys } from './schema.ts';
export { accountOf } from './accounts.ts';
export {
  isForOneUser,
  isOfUsers,
  isOwned,
  keepsConnections,
  mayBeConnected,
  needsCallers,
  takesKeysOnly,
} from './users.ts';
export type { Configs } from './users.ts';
export { referencesIn } from './composites-schema.ts';
export { hasTrustedHints, trustedHints } from './trusted-hints.ts';
export type { GivenRole, Role } from './role.ts';
export type { Config, ProfileConfig, ServerConfig } from './schema.ts';
export { isLoopback, isOfThisMachine } from './loopback.ts';
export { consoleMode } from './console-schema.ts';
export type { ConsoleMode } from './console-schema.ts';
export { shown, shownWords } from './right-forms.ts';
export { isSecretOption } from './secret-options.ts';
export { secretArguments, secretName, secretsOfUrl } from './secret-words.ts';
export { loadConfig } from './load.ts';
export { formatProblem } from './problem.ts';
export type { ConfigProblem } from './problem.ts';
export type { LoadResult, LoadedConfig, ProblemAt } from './load.ts';
export { migrateConfig } from './migrate.ts';
export { readConfigFile } from './read-file.ts';
export type { ReadOptions } from './read-file.ts';
export type { SecretReader } from './read-file.ts';
export { isStoreAddress } from './secrets-schema.ts';
export type { StoreSettings } from './secrets-schema.ts';
export { parseVaultReference } from './vault-reference.ts';
export type { VaultReference } from './vault-reference.ts';
export type { Resolved } from './references.ts';
export { watchConfigFile } from './watch.ts';
export { diffServers, enabledServers, noServers, restartOptions } from './diff.ts';
export { hasEndpoint, hasTenants, isForTenant, serversFor } from './tenants.ts';
export { clientById, clients } from './clients/table.ts';
export type { Client } from './clients/client.ts';
export { ownerOf, readClientFile } from './clients/read.ts';
export type { ClientFile } from './clients/read.ts';
export { entriesAt, formatOf, removeEntry, setEntry } from './edit/entries.ts';
export { editedEntry, hideSecrets, secretsIn, shownEntry, writtenSecrets } from './edit/shown-entry.ts';
export { isDocumentAddress } from './openapi-schema.ts';
export type { OpenApiConfig } from './openapi-schema.ts';
export { ledgerSinkOf } from './ledger-sink.ts';
