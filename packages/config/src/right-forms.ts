/** The smallest right form of what people write in another one, by its place in the file. Values of variables and headers are not repeated. */
import { isIPv6 } from 'node:net';
import { withoutSecrets } from '@omnibus/protocol';
import { parseDurationMs } from './duration.ts';
import type { Path } from './problem.ts';
import { secretArguments } from './secret-words.ts';
import { isMap, textsIn } from './values.ts';

/** @returns undefined if this form says nothing of the value. */
type Form = (got: unknown) => string | undefined;

const text =
  (form: (got: string) => string | undefined): Form =>
  (got) =>
    typeof got === 'string' ? form(got) : undefined;
const list =
  (form: (got: readonly unknown[]) => string | undefined): Form =>
  (got) =>
    Array.isArray(got) ? form(got) : undefined;
/** A switch in place of an option. @param off what `false` means. */
const flag =
  (on: string, off = 'leave it out'): Form =>
  (got) =>
    typeof got === 'boolean' ? (got ? on : off) : undefined;

/** Options that stand under a server, of which people forget the blank behind the colon. */
const option = /^(command|url|type|args|env|headers|cwd|timeout):(?!\/\/)(\S.*)$/;

function server(got: string): string | undefined {
  if (/^(https?|wss?):/.test(got)) return undefined;
  const [, name, value] = option.exec(got) ?? [];
  if (name !== undefined) return `write a blank behind the colon: "${name}: ${shown(value ?? '')}"`;
  const [, key, given] = /^(\w+)\s*=\s*(.+)$/.exec(got) ?? [];
  if (key !== undefined && given !== undefined) return `write ": " in place of "=": "${key}: ${shown(given)}"`;
  const [command, ...args] = shownWords(got.trim().split(/\s+/));
  return `write { command: ${command ?? ''}${args.length === 0 ? '' : `, args: ${JSON.stringify(args)}`} }`;
}

function command(got: readonly unknown[]): string {
  const [program = '', ...args] = shownWords(textsIn(got));
  return `write command: ${program} and args: ${JSON.stringify(args)}`;
}

/** A list of `NAME=value`, `NAME: value`, `{ NAME: value }` or `{ name: NAME, value: … }`. */
function pairs(got: readonly unknown[]): string {
  const names = got.map((each) => {
    const [first] = isMap(each) ? Object.keys(each) : [];
    const told = isMap(each) && typeof each['name'] === 'string' ? each['name'] : (first ?? String(each));
    return /^[\w-]+/.exec(told)?.[0] ?? 'NAME';
  });
  return `write a map: { ${names.map((name) => `${name}: "…"`).join(', ')} }`;
}

/** Options of a program, written as a map. */
function options(got: unknown): string | undefined {
  if (!isMap(got)) return undefined;
  const words = Object.entries(got).flatMap(([name, value]) =>
    isMap(value) || Array.isArray(value) ? [`--${name}`] : [`--${name}`, ...(value === true ? [] : [String(value)])],
  );
  return `write ${JSON.stringify(shownWords(words))}`;
}

/** Tools by their servers. */
function toolGlobs(got: unknown): string | undefined {
  if (!isMap(got)) return undefined;
  const globs = Object.entries(got).flatMap(([server, tools]) =>
    (Array.isArray(tools) ? tools : ['*']).map((tool) => `${server}/${String(tool)}`),
  );
  return `write ${JSON.stringify(globs)}`;
}

function transport(got: string): string | undefined {
  if (/websocket|^wss?$/i.test(got)) return 'write "websocket"';
  if (/http|stream|remote|url/i.test(got)) return 'write "http"';
  return /std|local|command|process/i.test(got) ? 'write "stdio"' : undefined;
}

function bus(got: unknown): string | undefined {
  if (!isMap(got)) return undefined;
  const address = Object.values(got).find((each) => typeof each === 'string' && /^(nats|tls):/.test(each));
  return `write ${JSON.stringify(typeof address === 'string' ? shown(address) : 'nats://HOST:4222')}, and what else belongs to it under \`nats\``;
}

/** The folder of a file; a word without dots is a folder itself. */
const folderOf = (got: string): string => (/\.\w+$/.test(got) ? got.replace(/[/\\]?[^/\\]*$/, '') || 'audit' : got);

/** A rate in words of its own, such as `10 per minute` or `100rpm`. @param shown the option with the rate. */
function rate(got: unknown, shown = (found: string) => `"${found}"`): string | undefined {
  const [, count, per] =
    /^(\d+)\s*(?:calls?|requests?|req)?\s*(?:\/|per|an?|each|every|r?p)?\s*(s|m|h)?(?:ec|in|our|r)?\w*$/i.exec(
      String(got).trim(),
    ) ?? [];
  if (count === undefined) return undefined;
  const unit = { s: 's', m: 'min', h: 'h' }[(per ?? 'm').toLowerCase()];
  return `write ${shown(`${count}/${unit ?? 'min'}`)}`;
}

/** A host without its port. */
function hostPort(got: string, port: number): string | undefined {
  return /^[A-Za-z][\w.-]*$|^\d+(\.\d+){3}$/.test(got) ? `write "${got}:${port}"` : undefined;
}

/** A tool of a server, as a map. A star for all stands in the place of one of the two alone. */
function toolGlob(got: unknown): string | undefined {
  if (!isMap(got)) return undefined;
  const { server, tool } = got;
  const word = (given: unknown): string => (typeof given === 'string' ? given : '*');
  return typeof server === 'string' || typeof tool === 'string'
    ? `write ${JSON.stringify(`${word(server)}/${word(tool)}`)}`
    : undefined;
}

/** A host and a port as a map. @param usual the port where the map has none. */
const address =
  (usual: number): Form =>
  (got) => {
    if (!isMap(got)) return undefined;
    const { host = '127.0.0.1', address: name = host, port = usual } = got;
    if (typeof name !== 'string' || !/^\d+$/.test(String(port))) return undefined;
    const bare = name.replace(/^\[(.*)\]$/, '$1');
    return isIPv6(bare) ? `write "[${bare}]:${Number(port)}"` : hostPort(name, Number(port));
  };

/** The only entry of a list, written without the list. */
function oneOfList(got: unknown): string | undefined {
  return isMap(got)
    ? `write its "- " in front of the first option of each entry: - ${Object.keys(got)[0] ?? 'NAME'}: …`
    : undefined;
}

/** A list whose entries say their names themselves. */
function named(got: readonly unknown[]): string | undefined {
  const names = got.flatMap((each) => (isMap(each) && typeof each['name'] === 'string' ? [each['name']] : []));
  return names.length === 0 || names.length < got.length
    ? undefined
    : `write a map by their names, without \`name\`: { ${names.map((name) => `${name}: { … }`).join(', ')} }`;
}

/** By the place, with `*` for any step. */
const forms: readonly (readonly [place: string, form: Form])[] = [
  ['mcpServers.*', text(server)],
  ['mcpServers.*.command', list(command)],
  ['mcpServers.*.args', options],
  [
    'mcpServers.*.env.*',
    (got) => (got === null ? 'write "" for an empty text, or "${NAME}" for a variable' : undefined),
  ],
  ['mcpServers.*.type', (got) => (isMap(got) ? 'write what is in it one level higher, under the server' : undefined)],
  ['mcpServers.*.type', text(transport)],
  ['mcpServers.*.env', list(pairs)],
  ['mcpServers.*.env', text((got) => pairs([got]))],
  ['mcpServers.*.headers', list(pairs)],
  ['mcpServers.*.headers', text((got) => pairs([got]))],
  ['mcpServers.*.tools', list((got) => `write includeTools: ${JSON.stringify(got)}`)],
  [
    'mcpServers.*.credentials',
    text((got) => `write { kind: ${/^oauth/i.test(got) ? 'oauth' : 'client'} }, with what else it needs`),
  ],
  [
    'mcpServers.*.sandbox',
    (got) => (isMap(got) ? undefined : 'write {} for no network and no files but its own, and what it may use besides'),
  ],
  [
    'mcpServers.*.restart',
    (got) => (isMap(got) ? undefined : 'write { maxDelay: 30s }; a server that is lost is always connected to again'),
  ],
  [
    'mcpServers.*.credentials.kind',
    (got) =>
      got === undefined
        ? 'write kind: oauth where each user signs in; a token that all callers share stands under `headers`'
        : undefined,
  ],
  [
    'mcpServers.*.openapi',
    flag('write the file or address of the document: openapi: "https://HOST/openapi.json", and leave `url` out'),
  ],
  ['mcpServers.*.url', list((got) => `write a server for each address: url: ${JSON.stringify(shown(String(got[0])))}`)],
  [
    'mcpServers.*.url',
    text((got) => {
      const [program = '', ...rest] = shownWords(got.trim().split(/\s+/));
      if (/^(npx|uvx|node|python3?|docker|bunx|deno)$/.test(program))
        return `a program is no address: write command: ${program} and args: ${JSON.stringify(rest)}`;
      return got.startsWith('file:')
        ? 'a file is no server: write command, or openapi for the document of an API'
        : undefined;
    }),
  ],
  [
    'mcpServers.*.args.*',
    list((got) => `write its words in the list itself: ${JSON.stringify(shownWords(textsIn(got)))}`),
  ],
  ['mcpServers.*.isolation', text((got) => (/user|caller|client/i.test(got) ? 'write "principal"' : undefined))],
  ['mcpServers.*.proxy', flag('write "http://PROXY:3128", or leave it out: the usual variables hold', 'write "none"')],
  [
    'mcpServers.*.credentials.kind',
    text((got) =>
      /bearer|basic|token|key|header/i.test(got)
        ? 'a token that all callers share stands under `headers`: headers: { Authorization: "Bearer ${NAME}" }'
        : undefined,
    ),
  ],
  ['access', text((got) => (got === 'allow' || got === 'deny' ? `write { default: ${got} }` : undefined))],
  [
    'access.default',
    text((got) =>
      /read/i.test(got) ? 'write "deny", and a rule { who: everyone, allow: ["*"], only: readOnly }' : undefined,
    ),
  ],
  ['access.rules.*.ask', flag('write the tools in place of it: ["SERVER/TOOL"], and leave them out of allow and deny')],
  ['listen', address(7300)],
  ['admin', address(7301)],
  ['listing', flag('write "search" for few tools, or "full"', 'write "full"')],
  ['profiles.*.listing', flag('write "search" for few tools, or "full"', 'write "full"')],
  ['profiles.*', (got) => (got === null ? 'write {} for all servers' : undefined)],
  ['profiles.*.tools.*', toolGlob],
  [
    'log.level',
    text((got) =>
      /verbose|all|fine/i.test(got) ? 'write "debug"' : /none|off|quiet/i.test(got) ? 'write "silent"' : undefined,
    ),
  ],
  [
    'limits.*',
    text((got) =>
      /unlimited|infinit|none|off/i.test(got) ? 'leave it out for the default, or write a large number' : undefined,
    ),
  ],
  ['auth.issuers.*', text((got) => `write { issuer: ${JSON.stringify(got)} }`)],
  ['auth.keys', list(() => 'write { file: keys.yaml }, and make keys with "omnibus keys create"')],
  [
    'audit.sinks.*',
    text((got) => (/file|std|console|log/i.test(got) ? 'write { kind: file, folder: audit }' : undefined)),
  ],
  ['discovery.kubernetes', flag('write { enabled: true }')],
  ['secrets.vault', text((got) => `write { address: ${JSON.stringify(shown(got))} }`)],
  ['searchModel', flag('write { folder: PATH } after "omnibus search-model add", or leave it out')],
  ['access', list(() => 'write { rules: [...] }')],
  ['limits', text((got) => rate(got, (found) => `{ rules: [{ rate: ${found} }] }`))],
  ['listen', text((got) => hostPort(got, 7300))],
  ['admin', text((got) => hostPort(got, 7301))],
  ['limits.rules', oneOfList],
  ['access.rules', oneOfList],
  ['auth.issuers', oneOfList],
  ['bus', text((got) => (/^(redis|amqp|kafka|mqtt)s?:/.test(got) ? 'write "nats://127.0.0.1:4222"' : undefined))],
  ['limits', list(() => 'write { rules: [...] }')],
  ['results', (got) => (typeof got === 'number' ? `write { maxTokens: ${got} }` : undefined)],
  ['profiles', list(named)],
  ['profiles.*.tools', toolGlobs],
  ['profiles.*', list((got) => `write { servers: ${JSON.stringify(got)} }`)],
  ['profiles.*', text((got) => `write { servers: ${JSON.stringify([got])} }`)],
  [
    'profiles.*.pin.*',
    (got) => (isMap(got) ? undefined : `write the arguments that are fixed, by name: { NAME: ${JSON.stringify(got)} }`),
  ],
  ['auth.keys', text((got) => `write { file: ${/^[\w./-]+\.(ya?ml|json)$/.test(got) ? got : 'keys.yaml'} }`)],
  ['limits.rules.*.rate', rate],
  ['timeouts', text((got) => `write { call: ${parseDurationMs(got) === undefined ? '60s' : got} }`)],
  ['nats', text((got) => `write bus: ${JSON.stringify(shown(got))}; \`nats\` has what else belongs to it`)],
  ['console', (got) => (typeof got === 'boolean' ? `write "${got ? 'full' : 'off'}"` : undefined)],
  ['code', flag('write listing: code; `code` has the bounds of scripts')],
  ['listing', text((got) => (/lazy|dynamic|defer|on.?demand|find|discover/i.test(got) ? 'write "search"' : undefined))],
  ['searchModel', text((got) => `write { ${/^https?:/.test(got) ? 'url' : 'folder'}: ${JSON.stringify(shown(got))} }`)],
  ['guardrails.*', text((got) => `write { id: ${/^[\w.-]+$/.test(got) ? got : 'NAME'}, patterns: [email, key] }`)],
  [
    'composites.*',
    list((got) => {
      const steps = textsIn(got).map((call, at) => `{ id: step${at + 1}, call: ${call} }`);
      return `write { description: "…", steps: [${steps.join(', ')}] }`;
    }),
  ],
  ['publicUrl', text((got) => (/^[\w.-]+\.\w+(:\d+)?(\/\S*)?$/.test(got) ? `write "https://${got}"` : undefined))],
  ['audit', text((got) => `write { sinks: [{ kind: file, folder: ${JSON.stringify(folderOf(got))} }] }`)],
  ['tracing', flag('write { endpoint: "http://127.0.0.1:4318" }, or leave it out')],
  ['audit', flag('write where records go (docs/how-to/audit.md), or leave it out')],
  ['audit.sinks', oneOfList],
  ['tls', flag('write { certFile: cert.pem, keyFile: key.pem }, or leave it out')],
  ['log', text((got) => `write { level: ${/^\w+$/.test(got) ? got : 'info'} }`)],
  ['bus', bus],
];

export function rightForm(got: unknown, path: Path): string | undefined {
  for (const [place, form] of forms) {
    const steps = place.split('.');
    if (steps.length !== path.length || !steps.every((step, at) => step === '*' || step === path[at])) continue;
    const words = form(got);
    if (words !== undefined) return words;
  }
  return undefined;
}

/** The words of a command, or its arguments, without the secrets among them. */
export function shownWords(words: readonly string[]): readonly string[] {
  return words.map((word) => withoutSecretsOf(words, word));
}

/** Removes the secrets from a value, which a user may have written in the place of another option. */
export function shown(given: string): string {
  return withoutSecretsOf(given.split(/\s+/), given);
}

const mark = '...';

/** @param words the words of a command, some of which are secrets by the options before them. */
function withoutSecretsOf(words: readonly string[], text: string): string {
  return withoutSecrets(
    secretArguments(words).reduce((left, secret) => left.replaceAll(secret, mark), text),
    mark,
  );
}
