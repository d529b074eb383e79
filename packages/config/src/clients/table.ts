/**
 * The programs that keep servers in a file: where the file is and how it is recognized, where in it the servers stand, what becomes of each option, and how an entry
 * of this gateway is written. The import translates or names each known form; it sends no text that the program itself would replace.
 */
import { join } from 'node:path';
import { has, isMap, mapsIn, type Values } from '../values.ts';
import { besideClaudeCode, besideGemini, besideOpencode, besideZed } from './beside.ts';
import { agents } from './agents.ts';
import { assistants } from './assistants.ts';
import { gateways } from './gateways.ts';
import { serversAt, unsaid, type Client, type Found, type Machine } from './client.ts';
import { bearer, merged } from './translate.ts';

/** Whether a map has servers under `servers`, as VS Code writes them. */
const hasServers = (value: Values): boolean =>
  isMap(value['servers']) && typeof value['servers']['type'] !== 'string' && !has(value, 'mcpServers');

const isOpencodes = (servers: unknown): boolean =>
  mapsIn(servers).some(([, { type, command }]) => type === 'local' || type === 'remote' || Array.isArray(command));
/** The servers of opencode stand under `mcp`, and in some versions under `mcp.servers`. */
function serversOfOpencode({ mcp }: Values): { readonly servers: unknown; readonly path: readonly string[] } {
  return isMap(mcp) && hasServers(mcp)
    ? { servers: mcp['servers'], path: ['mcp', 'servers'] }
    : { servers: mcp, path: ['mcp'] };
}

const withHeaders = (headers: Readonly<Record<string, string>>): object =>
  Object.keys(headers).length === 0 ? {} : { headers };

/** Folder of settings of desktop programs. */
function appData({ platform, home, env }: Machine): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  return platform === 'win32'
    ? (env['APPDATA'] ?? join(home, 'AppData', 'Roaming'))
    : (env['XDG_CONFIG_HOME'] ?? join(home, '.config'));
}

/** In a plugin's `.mcp.json` the servers may stand at the top, without `mcpServers`. */
function serversOfClaudeCode(value: Values): readonly Found[] | undefined {
  const { mcpServers } = value;
  if (isMap(mcpServers)) return serversAt(mcpServers, ['mcpServers']);
  const entries = Object.values(value);
  return mcpServers === undefined &&
    entries.length > 0 &&
    entries.every((entry) => isMap(entry) && has(entry, 'command', 'url'))
    ? serversAt(value, [])
    : undefined;
}

/** The agent of GitHub Copilot takes secrets by their names, which begin with `COPILOT_MCP_`. */
const copilotOptions: NonNullable<Client['options']> = {
  env: ({ value, server, set }) =>
    set(
      'env',
      isMap(value)
        ? merged(
            server,
            'env',
            Object.fromEntries(
              Object.entries(value).map(([name, text]) => [
                name,
                /^COPILOT_MCP_\w+$/.test(String(text)) ? `\${env:${String(text)}}` : text,
              ]),
            ),
          )
        : value,
    ),
};

/** Continue's key is a bearer token, and its hub keeps entries that a file only names. */
const continueOptions: NonNullable<Client['options']> = {
  apiKey: bearer,
  uses: ({ value, lose }) =>
    lose(
      `an entry of Continue's hub, which alone knows it: write the server itself, with \`command\` or \`url\`, in place of "${String(value)}"`,
    ),
  with: unsaid,
  sourceFile: unsaid,
};

const codeUser = (machine: Machine): string => join(appData(machine), 'Code', 'User');
const extension = (machine: Machine, id: string, file: string): readonly string[] =>
  ['Code', 'Cursor', 'VSCodium'].map((editor) =>
    join(appData(machine), editor, 'User', 'globalStorage', id, 'settings', file),
  );

export const clients: readonly Client[] = [
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    keys: [['mcpServers']],
    known: /(^|\/)claude_desktop_config\.json$/,
    marks: (value) => isMap(value['mcpServers']) && has(value, 'globalShortcut', 'preferences'),
    userFiles: (machine) => [join(appData(machine), 'Claude', 'claude_desktop_config.json')],
    // It starts programs only.
    entry: ({ command, args }) => ({ command, args }),
    hint: 'Claude Desktop writes this file too while it runs: quit it before, and start it again after',
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    keys: [['mcpServers']],
    find: serversOfClaudeCode,
    known: /(^|\/)(\.claude\.json|\.mcp\.json)$/,
    marks: (value) => isMap(value['mcpServers']) && has(value, 'numStartups', 'projects'),
    entryMarks: (entry) => has(entry, 'headersHelper', 'alwaysLoad'),
    replaces: ['braces'],
    beside: besideClaudeCode,
    userFiles: ({ home, env }) => [
      env['CLAUDE_CONFIG_DIR'] === undefined
        ? join(home, '.claude.json')
        : join(env['CLAUDE_CONFIG_DIR'], '.claude.json'),
    ],
    projectFile: '.mcp.json',
    entry: ({ url, headers, isShort }) => ({
      type: 'http',
      url,
      ...withHeaders(headers),
      ...(isShort === true ? { alwaysLoad: true } : {}),
    }),
    hint: 'start Claude Code again',
  },
  {
    id: 'cursor',
    name: 'Cursor',
    keys: [['mcpServers']],
    known: /(^|\/)\.cursor\/mcp\.json$/,
    userFiles: ({ home }) => [join(home, '.cursor', 'mcp.json')],
    projectFile: '.cursor/mcp.json',
    entry: ({ url, headers }) => ({ url, ...withHeaders(headers) }),
    hint: 'Cursor rereads the file by itself; else: Settings, MCP, refresh',
  },
  {
    id: 'vscode',
    name: 'VS Code',
    keys: [['servers'], ['mcp', 'servers'], ['mcpServers']],
    known: /(^|\/)(\.vscode|Code( - Insiders)?\/User(\/profiles\/[^/]+)?|data\/User)\/mcp\.json$/,
    marks: (value, format) =>
      format === 'json' &&
      (hasServers(value) || (isMap(value['mcp']) && hasServers(value['mcp']) && !isOpencodes(value['mcp']['servers']))),
    userFiles: (machine) => [join(codeUser(machine), 'mcp.json')],
    projectFile: '.vscode/mcp.json',
    entry: ({ url, headers }) => ({ type: 'http', url, ...withHeaders(headers) }),
    hint: 'VS Code asks whether the server is to be started: MCP: List Servers',
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    keys: [['mcpServers']],
    known: /(^|\/)\.codeium\/(windsurf\/)?mcp_config\.json$/,
    entryMarks: (entry) => has(entry, 'serverUrl'),
    userFiles: ({ home }) => [
      join(home, '.codeium', 'windsurf', 'mcp_config.json'),
      join(home, '.codeium', 'mcp_config.json'),
    ],
    entry: ({ url, headers }) => ({ serverUrl: url, ...withHeaders(headers) }),
    hint: 'press the refresh button of its MCP servers; Windsurf takes 100 tools in all, so a profile may be of use (--endpoint NAME)',
  },
  {
    id: 'zed',
    name: 'Zed',
    keys: [['context_servers']],
    known: /(^|\/)(\.zed|zed|Zed)\/settings\.json$/,
    marks: (value) => has(value, 'context_servers'),
    shares: ['log', 'profiles'],
    beside: besideZed,
    userFiles: (machine) => [
      machine.platform === 'darwin'
        ? join(machine.home, '.config', 'zed', 'settings.json')
        : join(appData(machine), machine.platform === 'win32' ? 'Zed' : 'zed', 'settings.json'),
    ],
    projectFile: '.zed/settings.json',
    entry: ({ url, headers }) => ({ url, ...withHeaders(headers) }),
    hint: 'Zed rereads the file by itself',
  },
  {
    id: 'roo',
    name: 'Roo Code',
    keys: [['mcpServers']],
    timeoutUnit: 's',
    known: /(^|\/)(rooveterinaryinc\.roo-cline\/settings\/mcp_settings|\.roo\/mcp|mcp_settings)\.json$/,
    entryMarks: (entry) =>
      has(entry, 'watchPaths') || (has(entry, 'alwaysAllow') && entry['type'] === 'streamable-http'),
    userFiles: (machine) => extension(machine, 'rooveterinaryinc.roo-cline', 'mcp_settings.json'),
    projectFile: '.roo/mcp.json',
    hint: '',
  },
  {
    id: 'cline',
    name: 'Cline',
    keys: [['mcpServers']],
    timeoutUnit: 's',
    known: /(^|\/)cline_mcp_settings\.json$/,
    entryMarks: (entry) => entry['type'] === 'streamableHttp' || has(entry, 'transportType', 'alwaysAllow'),
    userFiles: (machine) => extension(machine, 'saoudrizwan.claude-dev', 'cline_mcp_settings.json'),
    entry: ({ url, headers }) => ({ type: 'streamableHttp', url, ...withHeaders(headers) }),
    hint: 'Cline rereads the file by itself',
  },
  {
    id: 'antigravity',
    name: 'Antigravity',
    keys: [['mcpServers']],
    known: /(^|\/)antigravity\/mcp_config\.json$/,
    userFiles: ({ home }) => [join(home, '.gemini', 'antigravity', 'mcp_config.json')],
    entry: ({ url, headers }) => ({ serverUrl: url, ...withHeaders(headers) }),
    hint: 'refresh its MCP servers',
  },
  {
    id: 'gemini',
    name: 'Gemini CLI',
    keys: [['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)\.?gemini(-cli)?\/settings\.json$/,
    marks: (value) =>
      isMap(value['mcpServers']) && isMap(value['security']) && has(value['security'], 'auth', 'folderTrust'),
    entryMarks: (entry) => has(entry, 'httpUrl'),
    shares: ['security', 'admin'],
    replaces: ['braces', 'bare'],
    beside: besideGemini,
    userFiles: ({ home }) => [join(home, '.gemini', 'settings.json')],
    projectFile: '.gemini/settings.json',
    entry: ({ url, headers }) => ({ httpUrl: url, ...withHeaders(headers) }),
    hint: 'start Gemini CLI again',
  },
  {
    id: 'codex',
    name: 'Codex',
    keys: [['mcp_servers']],
    known: /(^|\/)\.codex\/config\.toml$/,
    marks: (value, format) => format !== 'yaml' && isMap(value['mcp_servers']),
    shares: ['profiles'],
    userFiles: ({ home, env }) => [join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml')],
    projectFile: '.codex/config.toml',
    entry: ({ url, headers }) => ({ url, ...(Object.keys(headers).length === 0 ? {} : { http_headers: headers }) }),
    hint: 'start Codex again',
  },
  {
    id: 'copilot',
    name: 'Copilot CLI',
    keys: [['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)mcp-config\.json$/,
    entryMarks: (entry) => Array.isArray(entry['tools']),
    replaces: ['braces', 'bare'],
    options: copilotOptions,
    userFiles: ({ home, env }) => [join(env['COPILOT_HOME'] ?? join(home, '.copilot'), 'mcp-config.json')],
    entry: ({ url, headers }) => ({ type: 'http', url, ...withHeaders(headers), tools: ['*'] }),
    hint: 'start Copilot CLI again',
  },
  {
    id: 'lmstudio',
    name: 'LM Studio',
    keys: [['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)\.(lmstudio|cache\/lm-studio)\/mcp\.json$/,
    userFiles: ({ home }) => [join(home, '.lmstudio', 'mcp.json'), join(home, '.cache', 'lm-studio', 'mcp.json')],
    entry: ({ url, headers }) => ({ url, ...withHeaders(headers) }),
    hint: 'LM Studio rereads the file by itself',
  },
  {
    id: 'kiro',
    name: 'Kiro',
    keys: [['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)\.kiro\/settings\/mcp\.json$/,
    replaces: ['braces'],
    userFiles: ({ home }) => [join(home, '.kiro', 'settings', 'mcp.json')],
    projectFile: '.kiro/settings/mcp.json',
    entry: ({ url, headers }) => ({ url, ...withHeaders(headers) }),
    hint: 'Kiro rereads the file by itself',
  },
  {
    id: 'opencode',
    name: 'opencode',
    keys: [['mcp']],
    timeoutUnit: 'ms',
    known: /(^|\/)opencode\.jsonc?$/,
    marks: (value) => !has(value, 'mcpServers') && isOpencodes(serversOfOpencode(value).servers),
    find: (value) => {
      const { servers, path } = serversOfOpencode(value);
      return isMap(servers) ? serversAt(servers, path) : undefined;
    },
    beside: besideOpencode,
    userFiles: ({ home, env }) =>
      ['opencode.json', 'opencode.jsonc'].map((file) =>
        join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'opencode', file),
      ),
    projectFile: 'opencode.json',
    entry: ({ url, headers }) => ({ type: 'remote', url, enabled: true, ...withHeaders(headers) }),
    hint: 'start opencode again',
  },
  {
    id: 'goose',
    name: 'Goose',
    keys: [['extensions']],
    timeoutUnit: 's',
    known: /(^|\/)goose\/config\.yaml$/,
    marks: (value, format) =>
      format === 'yaml' &&
      !has(value, 'mcpServers') &&
      mapsIn(value['extensions']).some(([, entry]) => has(entry, 'type', 'cmd', 'uri')),
    replaces: ['braces', 'bare'],
    userFiles: ({ home, env, platform }) => [
      platform === 'win32'
        ? join(env['APPDATA'] ?? home, 'Block', 'goose', 'config', 'config.yaml')
        : join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'goose', 'config.yaml'),
    ],
    entry: ({ url, headers }) => ({
      enabled: true,
      type: 'streamable_http',
      name: 'omnibus',
      uri: url,
      timeout: 300,
      ...withHeaders(headers),
    }),
    hint: 'start Goose again',
  },
  {
    id: 'continue',
    name: 'Continue',
    keys: [['mcpServers'], ['experimental', 'modelContextProtocolServers']],
    known: /(^|\/)\.continue\/(config\.(ya?ml|json)|mcpServers\/[^/]+\.(ya?ml|json))$/,
    marks: (value) => Array.isArray(value['mcpServers']) && value['mcpServers'].some((each) => isMap(each)),
    options: continueOptions,
    userFiles: ({ home }) => [join(home, '.continue', 'config.yaml')],
    entry: ({ url, headers }) => ({
      name: 'omnibus',
      type: 'streamable-http',
      url,
      ...(Object.keys(headers).length === 0 ? {} : { requestOptions: { headers } }),
    }),
    hint: 'Continue rereads the file by itself',
  },
];

/** An unknown client: all that is known is that it keeps `mcpServers` in a JSON file. */
export const anyClient: Client = {
  id: 'client',
  name: 'a client',
  keys: [['mcpServers']],
  known: /^$/,
  userFiles: () => [],
  replaces: ['braces'],
  hint: '',
};

/** All programs with recognized files: the first that fits counts. */
export const programs: readonly Client[] = [...agents, ...gateways, ...clients, ...assistants];

export function clientById(id: string): Client | undefined {
  return clients.find((client) => client.id === id);
}
