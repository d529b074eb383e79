/**
 * The commands that the servers of a configuration start on this machine, for showing them to a person: in the words of the file, with references such as
 * `${TOKEN}` unresolved, so that no secret appears, and a digest of each, by which a change is noticed.
 */
import { createHash } from 'node:crypto';
import { enabledServers, secretArguments, type Config } from '@omnibus/config';
import { canonical, isObject, printable } from '@omnibus/protocol';
import { unpinnedOf } from './pinned.ts';
import { risksOf } from './risks.ts';

export interface Start {
  readonly server: string;
  /** The program and its arguments on one line. */
  readonly line: string;
  readonly digest: string;
  readonly risks: readonly string[];
  /** A downloaded package or image that is not pinned. */
  readonly unpinned: string | undefined;
}

/** Variables that can make a program run other code. */
const codeVariables =
  /^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|NODE_(OPTIONS|PATH)|PYTHON(PATH|STARTUP|HOME)|PERL5(OPT|LIB)|RUBY(OPT|LIB)|BASH_ENV|ENV|PATH|JAVA_TOOL_OPTIONS|NPM_CONFIG_\w+|UV_\w*INDEX\w*|PIP_\w+)$/i;
/** A random word, which is neither a program nor a command of a shell. */
const lettersAndDigits = /^(?=.*\d)(?=.*[A-Za-z])[^\s"'`$|;<>()\\]{16,}$/;
/** Bound on displayed characters of a command. */
const shownCharacters = 500;

/** A configuration and its source. */
export interface Written {
  readonly config: Config;
  /** The value of the file, before references are resolved. */
  readonly given: unknown;
}

export function startsOf({ config, given }: Written): readonly Start[] {
  const entries = isObject(given) && isObject(given['mcpServers']) ? given['mcpServers'] : {};
  return [...enabledServers(config)].flatMap(([server, settings]) => {
    if (settings.command === undefined) return [];
    const written = Object.hasOwn(entries, server) ? entries[server] : undefined;
    const { command = settings.command, args = [], env = {}, ...rest } = isObject(written) ? written : {};
    const { cwd, user, sandbox } = rest;
    const line = [String(command), ...(Array.isArray(args) ? args.map(String) : [])];
    const variables = isObject(env) ? env : {};
    const about = {
      line,
      cwd,
      user,
      sandbox,
      variables: Object.keys(variables).toSorted(),
      code: Object.fromEntries(Object.entries(variables).filter(([name]) => codeVariables.test(name))),
    };
    // `$${` in the file is a plain `${` for the program.
    const [program = '', ...words] = withoutSecrets(line).map((word) => word.replaceAll('$${', '${'));
    return [
      {
        server,
        line: printable([program, ...words].map(quoted).join(' '), shownCharacters),
        digest: digestOf(about),
        risks: risksOf(program, words),
        unpinned: unpinnedOf(program, words),
      },
    ];
  });
}

/** A digest of all commands together, independent of their order. */
export function digestOfAll(starts: readonly Start[]): string {
  return digestOf(starts.map(({ server, digest }) => `${server} ${digest}`).toSorted());
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 32);
}

/** The words of a command without its secrets. All else appears, since the user decides by it on the start. */
function withoutSecrets(line: readonly string[]): readonly string[] {
  const secrets = secretArguments(line.slice(1)).filter((each) => lettersAndDigits.test(each));
  return line.map((word) => secrets.reduce((left, secret) => left.replaceAll(secret, '[secret]'), word));
}

function quoted(word: string): string {
  return word === '' || /[\s"'`$&|;<>()*?\\]/.test(word.replaceAll(/\$\{\w+\}/g, '')) ? JSON.stringify(word) : word;
}
