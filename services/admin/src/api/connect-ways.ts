/** How each known client is connected to an endpoint: what stands in its file, and the command and the address that do it. */
import type { ConnectWays } from '@omnibus/admin-api';
import { clients, setEntry, takesKeysOnly, type Client, type Config } from '@omnibus/config';

/** The name of the gateway in the files of clients. */
const entryName = 'omnibus';
/** Listened at, these are all addresses of a machine; to connect to, they are none. */
const everyAddress = /\/\/(0\.0\.0\.0|\[::\])(?=[:/])/;

export interface ConnectWaysOptions {
  readonly config: Pick<Config, 'auth' | 'publicUrl' | 'mcpServers' | 'profiles'>;
  /** Where an edge listens for clients; undefined where none answers. */
  readonly listens: string | undefined;
  /** The name of a server or profile; empty for all servers. */
  readonly endpoint: string;
  /** The program that a client on this machine starts, and its first arguments. */
  readonly program: readonly string[];
}

/** @returns undefined when there is no such endpoint. */
export function connectWays({ config, listens, endpoint, program }: ConnectWaysOptions): ConnectWays | undefined {
  const { mcpServers, profiles } = config;
  const names = [
    ...Object.keys(mcpServers).filter((name) => mcpServers[name]?.disabled !== true),
    ...Object.keys(profiles),
  ];
  const endpoints = ['', ...names].map((name) => ({ name, path: name === '' ? '/mcp' : `/mcp/${name}` }));
  const path = endpoints.find(({ name }) => name === endpoint)?.path;
  if (path === undefined) return undefined;
  // Tokens are for the public address, and clients refuse to send them to another one.
  const origin =
    config.publicUrl ?? (listens ?? 'http://HOST:7300/mcp').replace(/\/mcp$/, '').replace(everyAddress, '//HOST');
  const url = `${origin}${path}`;
  const needsKey = takesKeysOnly(config);
  const headers = needsKey ? { Authorization: 'Bearer KEY' } : {};
  return {
    endpoint,
    endpoints,
    url,
    needsKey,
    clients: clients.flatMap((client) => {
      const { id, name, keys, entry, hint } = client;
      if (entry === undefined) return [];
      const words = Object.entries(headers).flatMap(([header, value]) => ['--header', `${header}: ${value}`]);
      const [command = '', ...first] = program;
      const value = entry({ url, headers, command, args: [...first, 'stdio', '--connect', url, ...words] });
      const files = filesOf(client);
      const format = files.linux.endsWith('.toml') ? 'toml' : /\.ya?ml$/.test(files.linux) ? 'yaml' : 'json';
      const link = links[id]?.({ url, ...(needsKey ? { headers } : {}) });
      return [
        {
          id,
          name,
          files,
          text: setEntry('', format, keys[0] ?? [], entryName, value),
          command: ['omnibus', 'connect', id, '--url', url, ...words],
          ...(link === undefined ? {} : { link }),
          hint,
        },
      ];
    }),
  };
}

/** Addresses that clients have registered for themselves. */
const links: Readonly<Record<string, (gateway: object) => string>> = {
  cursor: (gateway) =>
    `cursor://anysphere.cursor-deeplink/mcp/install?name=${entryName}&config=${encodeURIComponent(base64(gateway))}`,
  vscode: (gateway) =>
    `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: entryName, type: 'http', ...gateway }))}`,
  lmstudio: (gateway) => `lmstudio://add_mcp?name=${entryName}&config=${encodeURIComponent(base64(gateway))}`,
};

function base64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

function filesOf({ userFiles }: Client): ConnectWays['clients'][number]['files'] {
  const [linux = ''] = userFiles({ platform: 'linux', home: '~', env: {} });
  const [darwin = ''] = userFiles({ platform: 'darwin', home: '~', env: {} });
  const [win32 = ''] = userFiles({ platform: 'win32', home: '%USERPROFILE%', env: { APPDATA: '%APPDATA%' } });
  return { linux, darwin, win32: win32.replaceAll('/', '\\') };
}
