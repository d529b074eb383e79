/** Recognizes whose file a configuration is: by the name of the file, else by options that only one client uses. */
import { clientById, clients, type Client } from './table.ts';

export type Values = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An unknown client: all that is known is that it keeps `mcpServers` in a JSON file. */
const anyClient: Client = {
  id: 'client',
  name: 'a client',
  keys: [['mcpServers']],
  known: /^$/,
  userFiles: () => [],
  hint: '',
};

/**
 * @param isOwn whether an option at the top of the file is one of Omnibus, which no client writes.
 * @returns undefined for a file of Omnibus.
 */
export function recognize(
  file: string,
  format: 'yaml' | 'json' | 'toml',
  value: unknown,
  isOwn: (option: string) => boolean,
): Client | undefined {
  const path = file.replaceAll('\\', '/');
  // A source without such an ending is not a client's file, but an object of Kubernetes or a configuration that a program has put together.
  if (/(^|\/)omnibus[^/]*\.(ya?ml|json)$/.test(path) || !/\.(ya?ml|jsonc?|toml)$/.test(path)) return undefined;
  const named = clients.find(({ known }) => known.test(path));
  if (
    !isMap(value) ||
    Object.keys(value).some((option) => option !== 'mcpServers' && option !== '$schema' && isOwn(option))
  )
    return undefined;
  if (named !== undefined) return named;
  const id = byWords(value);
  // Only Continue and Goose write YAML.
  if (format === 'yaml') return id === 'continue' || id === 'goose' ? clientById(id) : undefined;
  return (
    (id === undefined ? undefined : clientById(id)) ?? (Object.hasOwn(value, 'mcpServers') ? anyClient : undefined)
  );
}

function byWords(value: Values): string | undefined {
  return Object.hasOwn(value, 'context_servers')
    ? 'zed'
    : Object.hasOwn(value, 'mcp_servers')
      ? 'codex'
      : isMap(value['mcp']) && !Object.hasOwn(value, 'mcpServers')
        ? Object.hasOwn(value['mcp'], 'servers')
          ? 'vscode'
          : 'opencode'
        : Array.isArray(value['mcpServers'])
          ? 'continue'
          : isMap(value['extensions']) && !Object.hasOwn(value, 'mcpServers')
            ? 'goose'
            : byEntries(value);
}

/** Each row: a client, and whether an entry has an option that only this client writes. */
const words: readonly (readonly [string, (entry: Values) => boolean])[] = [
  ['gemini', (entry) => Object.hasOwn(entry, 'httpUrl')],
  ['windsurf', (entry) => Object.hasOwn(entry, 'serverUrl')],
  [
    'roo',
    (entry) =>
      Object.hasOwn(entry, 'watchPaths') ||
      (Object.hasOwn(entry, 'alwaysAllow') && entry['type'] === 'streamable-http'),
  ],
  [
    'cline',
    (entry) =>
      entry['type'] === 'streamableHttp' ||
      Object.hasOwn(entry, 'transportType') ||
      Object.hasOwn(entry, 'alwaysAllow'),
  ],
  ['copilot', (entry) => Array.isArray(entry['tools'])],
  ['claude-code', (entry) => Object.hasOwn(entry, 'headersHelper') || Object.hasOwn(entry, 'alwaysLoad')],
];

function byEntries(value: Values): string | undefined {
  const servers = value['mcpServers'] ?? value['servers'];
  const entries = isMap(servers) ? Object.values(servers).filter(isMap) : [];
  const found = words.find(([, isTheirs]) => entries.some((entry) => isTheirs(entry)))?.[0];
  if (found !== undefined) return found;
  if (isMap(value['servers'])) return 'vscode';
  if (Object.hasOwn(value, 'numStartups') || Object.hasOwn(value, 'projects')) return 'claude-code';
  return Object.hasOwn(value, 'globalShortcut') || Object.hasOwn(value, 'preferences') ? 'claude-desktop' : undefined;
}
