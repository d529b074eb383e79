/** Finds options of servers that do something else than their author probably expects, by how they are written. */
import { commandNotes, imageOf } from './command-notes.ts';
import { secretName } from './secret-words.ts';
import { isMap, textsIn } from './values.ts';
import type { Path } from './problem.ts';
import type { Config, ServerConfig } from './schema.ts';

type Note = (path: Path, message: string) => void;

/**
 * @param config the complete file.
 * @param raw the same before references were replaced. Values of `headers` and `env` are never shown.
 * @param isOwnFile whether it is a configuration of Omnibus: other programs know no references to secrets.
 */
export function serverNotes(config: Config, raw: unknown, isOwnFile: boolean, note: Note): void {
  for (const [name, settings] of Object.entries<ServerConfig>(config.mcpServers)) {
    const at: Note = (path, message) => note(['mcpServers', name, ...path], message);
    const { url, env, headers, openapi } = settings;
    const written = isMap(raw) && isMap(raw['mcpServers']) ? raw['mcpServers'][name] : undefined;
    const words = inWords(settings, written);
    const { command, args } = words;
    if (command === undefined && Object.keys(env).length > 0)
      at(
        ['env'],
        'has no effect: environment variables are for a program that the gateway starts ("command"), and this server runs already',
      );
    if (command === undefined && args.length > 0)
      at(
        ['args'],
        'has no effect: arguments are for a program that the gateway starts ("command"), and this server runs already',
      );
    if (url === undefined && openapi === undefined && Object.keys(headers).length > 0)
      at(
        ['headers'],
        'has no effect: headers are sent to a "url", and this server is a program on stdin and stdout; give it its secrets in "env"',
      );
    for (const [header, value] of Object.entries(headers))
      if (settings.problem === undefined && isEmptied(value, written, header))
        at(
          ['headers', header],
          'is sent without a value, since the reference in it stands for an empty text: set it, or remove the header',
        );
    if (url !== undefined && isOwn(url, config.listen))
      at(['url'], 'is the address of this gateway itself (`listen`), which would be a server of its own');
    const terminal = terminalOf(command, args);
    if (terminal !== undefined)
      at(
        ['args', terminal],
        `${JSON.stringify(args[terminal])} gives the container a terminal, over which no messages can be sent: write "-i"`,
      );
    commandNotes(name, words, at);
    if (isMap(written)) {
      textNotes(written, at);
      if (isOwnFile) secretNotes(written, at);
    }
  }
}

/** The server with the options that notes repeat as the file has them: the value of a reference may be a secret of any form. */
function inWords(settings: ServerConfig, written: unknown): ServerConfig {
  const repeated = isMap(written) ? written : {};
  return {
    ...settings,
    ...(typeof repeated['command'] === 'string' ? { command: repeated['command'] } : {}),
    ...Object.fromEntries(
      (['args', 'includeTools', 'excludeTools'] as const).flatMap((option) =>
        Array.isArray(repeated[option]) ? [[option, textsIn(repeated[option])]] : [],
      ),
    ),
  };
}

/** The index of the option that gives a container a terminal. */
function terminalOf(command: string | undefined, args: readonly string[]): number | undefined {
  if (command === undefined || !/(^|[/\\])(docker|podman)(\.exe)?$/.test(command) || args[0] !== 'run')
    return undefined;
  const terminal = args.findIndex((arg) => /^(-[a-z]*t[a-z]*|--tty)$/.test(arg));
  return terminal > 0 && terminal < imageOf(args) ? terminal : undefined;
}

/** Whether a header has nothing but the name of a scheme, since what its reference stands for is empty. */
function isEmptied(value: string, server: unknown, header: string): boolean {
  const written = isMap(server) && isMap(server['headers']) ? server['headers'][header] : undefined;
  return /^\s*(bearer|basic|token|apikey)?\s*$/i.test(value) && typeof written === 'string' && written.includes('${');
}

function isOwn(url: string, listen: string): boolean {
  const { host, pathname } = new URL(url);
  return host.replace(/^localhost:/, '127.0.0.1:') === listen && /^\/mcp(\/|$)/.test(pathname);
}

/** Variables as shells, PowerShell, Node.js, Python and LiteLLM write them. After a bare `$` all letters are capitals, since a password may begin with `$`. */
const variableOf = /^(?:\w+ )?(\$(?=[A-Z][A-Z0-9_]*$)|\$env:|process\.env\.|os\.environ\/)([A-Za-z_]\w*)$/;

function textNotes(server: Readonly<Record<string, unknown>>, at: Note): void {
  for (const [path, text] of textsOf(server)) {
    if (/^[“”„‘’«»].*[“”„‘’«»]$/.test(text))
      at(
        path,
        `has typographic quotation marks, which are a part of the text: write ${JSON.stringify(path[0] === 'headers' || path[0] === 'env' ? '…' : text.slice(1, -1))}`,
      );
    if (/\$\{[^}]*$/.test(text))
      at(path, 'a "${" in it is not closed, and is passed on as it is: write ${NAME}, or $${ for a plain ${');
    const [, sign, variable] = path[0] === 'headers' || path[0] === 'env' ? (variableOf.exec(text) ?? []) : [];
    if (sign !== undefined && variable !== undefined)
      at(path, `"${sign}${variable}" is passed on as it is: write \${${variable}} for the environment variable`);
    const [, dash, option] = path[0] === 'args' ? (/^([–—―])(\w[\w-]*)/.exec(text) ?? []) : [];
    if (dash !== undefined && option !== undefined)
      at(
        path,
        `begins with a dash of typography, which programs read as text: write "${option.length === 1 ? '-' : '--'}${option}"`,
      );
    if (/^~[/\\]/.test(text) && path[0] !== 'headers' && path[0] !== 'command')
      at(path, 'no shell reads this, so "~" is passed on as it is: write "${HOME}" instead');
  }
}

/** Beginnings of secrets that their makers gave a form of its own. */
const secretForm =
  /(?<![\w-])(gh[pousr]_\w{16}|github_pat_\w{16}|glpat-[\w-]{16}|sk-[\w-]{16}|xox[abps]-[\w-]{10}|AKIA[A-Z0-9]{12}|omk_\w{8})/;
/** Options that users should replace. */
const blank =
  /<[A-Za-z][\w -]{2,40}>|%[A-Z][A-Z0-9_]{2,}%|\byour[-_](api[-_])?(key|token|secret)\b|\{\{\s*[\w.]+\s*\}\}/i;

/** Secrets that stand in the file itself, and places where one is to be written. No value is repeated. */
function secretNotes(server: Readonly<Record<string, unknown>>, at: Note): void {
  for (const [path, text] of textsOf(server)) {
    if (text.includes('${')) continue;
    const isValue = path[0] === 'headers' || path[0] === 'env' || path[0] === 'url';
    if (isValue && /^(?:\w+ )?(\$\(.+\)|`.+`)$/s.test(text))
      at(
        path,
        'is passed on as it is, since no shell reads it: write "${NAME}" for an environment variable, or "${file:path}" for a file with the output of the command',
      );
    if (blank.test(text) && isValue)
      at(
        path,
        'has a place for a value that nothing fills in: write the value, "${NAME}" for an environment variable, or "${file:path}"',
      );
    else if (secretForm.test(text) || (path[0] === 'url' && URL.canParse(text) && hasSecret(new URL(text))))
      at(
        path,
        'has a secret in it, which everybody reads who reads this file: write "${NAME}" for an environment variable, or "${file:path}"',
      );
  }
}

const hasSecret = ({ username, password, searchParams }: URL): boolean =>
  (username !== '' && password !== '') ||
  [...searchParams].some(([name, value]) => value !== '' && secretName.test(name));

/** The texts of a server that may hold references, each with its path. */
function textsOf(server: Readonly<Record<string, unknown>>): (readonly [Path, string])[] {
  const { command, cwd, url, args, env, headers } = server;
  const single = Object.entries({ command, cwd, url }).map(([option, value]) => [[option], value] as const);
  const several = Object.entries({ env, headers }).flatMap(([option, value]) =>
    isMap(value) ? Object.entries(value).map(([key, text]) => [[option, key], text] as const) : [],
  );
  const given = Array.isArray(args) ? args.map((text: unknown, index) => [['args', index], text] as const) : [];
  return [...single, ...several, ...given].flatMap(([path, text]) =>
    typeof text === 'string' ? [[path, text] as const] : [],
  );
}
