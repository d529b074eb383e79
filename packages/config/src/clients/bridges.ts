/**
 * Programs that connect a client to an address: `npx mcp-remote URL` and the like. The gateway connects to the address itself. An option that cannot be expressed
 * here keeps the bridge, so that the same server is reached in the same way.
 */
import { objectIn } from '@omnibus/protocol';
import { isMap, textsIn, type Values } from '../values.ts';

export interface Replaced {
  /** The entry that has the address in place of the bridge. */
  readonly entry: Values;
  readonly notes: readonly string[];
}

/** An entry that stays as it is, with the reason. */
export interface Kept {
  readonly kept: string;
}

/** The meaning of a bridge's words. */
interface Read {
  url?: string;
  type?: string;
  readonly headers: Record<string, string>;
  readonly excludeTools: string[];
  credentials?: Values;
  readonly notes: string[];
  /** Variables of the entry that are used up. */
  readonly used: Set<string>;
}

/** The number of words after an option, and their meaning. @returns why the bridge stays. */
interface Option {
  readonly words: number;
  readonly take?: (read: Read, words: readonly string[]) => string | undefined;
}

const ignored = (words: number): Option => ({ words });
const staying = (words: number, why: string): Option => ({ words, take: () => why });

const headerLine: Option = {
  words: 1,
  take: ({ headers }, [line = '']) => {
    const colon = line.indexOf(':');
    if (colon < 1) return 'its --header is not of the form "Name: value"';
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
    return undefined;
  },
};

/** github.com/geelen/mcp-remote, README. */
const mcpRemote: Readonly<Record<string, Option>> = {
  '--header': headerLine,
  '--debug': ignored(0),
  '--silent': ignored(0),
  '--allow-http': ignored(0),
  '--host': ignored(1),
  '--auth-timeout': ignored(1),
  '--enable-proxy': staying(0, '--enable-proxy has it use the proxy of the environment'),
  '--ignore-tool': { words: 1, take: ({ excludeTools }, [glob = '']) => void excludeTools.push(glob) },
  '--transport': {
    words: 1,
    take: (read, [strategy]) => {
      if (strategy === 'sse-only') read.type = 'sse';
      else if (strategy === 'http-only') read.type = 'http';
      // The gateway tries both, as the other two do.
      else if (strategy !== 'http-first' && strategy !== 'sse-first') return `--transport ${strategy ?? ''} is unknown`;
      return undefined;
    },
  },
  '--resource': staying(1, '--resource asks for tokens that are good at another address, which no option here does'),
  '--static-oauth-client-info': {
    words: 1,
    take: (read, [json = '']) => {
      const { client_id: clientId, client_secret: secret } = objectIn(json) ?? {};
      if (typeof clientId !== 'string') return '--static-oauth-client-info is not JSON with a client_id';
      if (secret !== undefined)
        return '--static-oauth-client-info has a client secret, which needs the issuer here: credentials: { kind: oauth, clientId, clientSecret, issuer }';
      read.credentials = { kind: 'oauth', ...read.credentials, clientId };
      read.notes.push(
        `the client ${clientId} is registered with the callback of mcp-remote: register that of the gateway too, \`publicUrl\`/connect/callback`,
      );
      return undefined;
    },
  },
  '--static-oauth-client-metadata': {
    words: 1,
    take: (read, [json = '']) => {
      const metadata = objectIn(json);
      if (metadata === undefined) return '--static-oauth-client-metadata is not JSON';
      const { scope, ...others } = metadata;
      const scopes = typeof scope === 'string' ? scope.split(' ').filter((each) => each !== '') : [];
      read.credentials = { kind: 'oauth', ...read.credentials, ...(scopes.length > 0 ? { scopes } : {}) };
      if (Object.keys(others).length > 0)
        read.notes.push(
          `--static-oauth-client-metadata: ${Object.keys(others).join(', ')} not taken over; the gateway registers with its own name and callback`,
        );
      return undefined;
    },
  },
};

/** github.com/supercorp-ai/supergateway, README: `--sse URL` or `--streamableHttp URL` connects to a server. */
const supergateway: Readonly<Record<string, Option>> = {
  '--header': headerLine,
  '--sse': {
    words: 1,
    take: (read, [url = '']) => {
      [read.url, read.type] = [url, 'sse'];
      return undefined;
    },
  },
  '--streamableHttp': {
    words: 1,
    take: (read, [url = '']) => {
      [read.url, read.type] = [url, 'http'];
      return undefined;
    },
  },
  '--oauth2Bearer': {
    words: 1,
    take: ({ headers }, [token = '']) => {
      headers['Authorization'] = `Bearer ${token}`;
      return undefined;
    },
  },
  '--outputTransport': {
    words: 1,
    take: (_read, [transport]) => (transport === 'stdio' ? undefined : 'it serves an address itself'),
  },
  '--logLevel': ignored(1),
};

const pair: Option = {
  words: 2,
  take: ({ headers }, [name = '', value = '']) => {
    headers[name] = value;
    return undefined;
  },
};
/** github.com/sparfenyuk/mcp-proxy, README: `mcp-proxy URL` connects to a server, by SSE unless `--transport` says otherwise. */
const mcpProxy: Readonly<Record<string, Option>> = {
  '-H': pair,
  '--headers': pair,
  '--transport': {
    words: 1,
    take: (read, [transport]) => {
      if (transport !== 'sse' && transport !== 'streamablehttp') return `--transport ${transport ?? ''} is unknown`;
      read.type = transport === 'sse' ? 'sse' : 'http';
      return undefined;
    },
  },
  '--debug': ignored(0),
};

interface Bridge {
  readonly name: string;
  readonly word: RegExp;
  readonly options: Readonly<Record<string, Option>>;
  readonly type?: string;
  /** Whether a further word beside the address is the port of its own callback. */
  readonly takesPort?: boolean;
}

const bridges: readonly Bridge[] = [
  { name: 'mcp-remote', word: /^(.*[/\\])?mcp-remote(@[^/\\]*)?$/, options: mcpRemote, takesPort: true },
  { name: 'supergateway', word: /^(.*[/\\])?supergateway(@[^/\\]*)?$/, options: supergateway },
  { name: 'mcp-proxy', word: /^(.*[/\\])?mcp-proxy([@=][^/\\]*)?$/, options: mcpProxy, type: 'sse' },
];
const runner = /(^|[/\\])(npx|bunx|pnpx|pnpm|yarn|npm|uvx|uv|pipx|cmd)(\.cmd|\.exe)?$/;
/** Words of runners before the package. */
const ofRunner = /^(-y|--yes|-q|--quiet|-p|--package|dlx|exec|run|tool|x|--|\/c|npx|bunx|uvx)$/;

/**
 * @param entry with Omnibus' names of options; its texts are as the client wrote them.
 * @returns undefined for an entry that is no bridge.
 */
export function withoutBridge(entry: Values): Replaced | Kept | undefined {
  const { command, args, env, type: _type, cwd: _cwd, ...rest } = entry;
  if (typeof command !== 'string' || rest['url'] !== undefined || (args !== undefined && !Array.isArray(args)))
    return undefined;
  const found = bridgeIn([command, ...(args ?? [])].map(String));
  if (found === undefined) return undefined;
  const { bridge, words } = found;
  const read: Read = { headers: {}, excludeTools: [], notes: [], used: new Set() };
  const kept = readWords(bridge, words, read);
  if (kept !== undefined) return kept === '' ? undefined : { kept: `it stays a program (${bridge.name}): ${kept}` };
  if (read.url === undefined || !/^https?:\/\//.test(read.url)) return undefined;
  const variables = isMap(env) ? env : {};
  if (bridge.name === 'mcp-proxy' && typeof variables['API_ACCESS_TOKEN'] === 'string') {
    read.headers['Authorization'] ??= 'Bearer ${API_ACCESS_TOKEN}';
  }
  const headers = Object.fromEntries(
    Object.entries(read.headers).map(([name, value]) => [name, filled(value, variables, read.used)] as const),
  );
  const type = read.type ?? bridge.type;
  const excludeTools = [...textsIn(rest['excludeTools']), ...read.excludeTools];
  return {
    entry: {
      url: read.url,
      ...(type === undefined ? {} : { type }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(read.credentials === undefined ? {} : { credentials: read.credentials }),
      ...rest,
      ...(excludeTools.length === 0 ? {} : { excludeTools }),
    },
    notes: [...read.notes, ...leftOut(bridge, variables, read.used)],
  };
}

function leftOut({ name }: Bridge, variables: Values, used: ReadonlySet<string>): readonly string[] {
  const left = Object.keys(variables).filter((each) => !used.has(each));
  if (left.length === 0) return [];
  return [
    `${left.join(', ')} of \`env\` ${left.length === 1 ? 'was' : 'were'} for ${name}, in whose place the gateway connects to the address itself; left out`,
  ];
}

/** @returns the bridge that a command starts, itself or by a runner of packages, and the words after it. */
function bridgeIn(
  words: readonly string[],
): { readonly bridge: Bridge; readonly words: readonly string[] } | undefined {
  const at = words.findIndex((word) => bridges.some((bridge) => bridge.word.test(word)));
  const bridge = bridges.find(({ word }) => word.test(words[at] ?? ''));
  const isStarted =
    at === 0 || (runner.test(words[0] ?? '') && words.slice(1, at).every((word) => ofRunner.test(word)));
  return bridge === undefined || !isStarted ? undefined : { bridge, words: words.slice(at + 1) };
}

/** @returns why the bridge stays; an empty text where it is none. */
function readWords({ options, takesPort = false }: Bridge, words: readonly string[], read: Read): string | undefined {
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as string;
    const [name, ...joined] = word.startsWith('--') ? word.split('=') : [word];
    const option = Object.hasOwn(options, name as string) ? options[name as string] : undefined;
    if (option !== undefined) {
      const given = joined.length > 0 ? [joined.join('=')] : words.slice(index + 1, index + 1 + option.words);
      if (given.length < option.words) return `${word} has no value`;
      if (joined.length === 0) index += option.words;
      const kept = option.take?.(read, given);
      if (kept !== undefined) return kept;
    } else if (word.startsWith('-')) return `${name as string} has no counterpart here`;
    else if (read.url === undefined && /^https?:\/\//.test(word)) read.url = word;
    else if (!(takesPort && read.url !== undefined && /^\d+$/.test(word))) return '';
  }
  return undefined;
}

/** A text in which the bridge puts its own variables, with their values; others are those of the gateway. */
function filled(text: string, variables: Values, used: Set<string>): string {
  return text.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (_whole, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (typeof value !== 'string') return `\${env:${name}}`;
    used.add(name);
    return value;
  });
}
