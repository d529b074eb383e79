/** Resolves the references (`${…}`) in a configuration. One that cannot be resolved in the options of a server only keeps that server from being connected to. */
import { createPrivateKey } from 'node:crypto';
import { parseEnv } from 'node:util';
import { isMap, valueAt } from './values.ts';
import { formatPath, type Path } from './problem.ts';
import { resolveReferences, type ReferenceSource } from './references.ts';
import type { Config, ServerConfig } from './schema.ts';

type Report = (path: Path, message: string) => void;

/** Stand-ins for options with unresolved references, so that the rest of the configuration can be checked. The server is not connected to. */
const standIns: Readonly<Record<string, string>> = { url: 'http://unresolved.invalid/mcp', command: 'unresolved' };
/** Options by which the gateway authenticates to issuers. */
const secretsOfClients: ReadonlySet<string> = new Set(['clientSecret', 'privateKey', 'assertionFile']);
/** Options of a server that may hold any text. */
const plainTexts = new Set(['args', 'env', 'headers', 'cwd', 'envFile', 'description', 'tls']);

function standInFor([, , option, ...inner]: Path): string | undefined {
  // The check of `credentials` asks whether a secret is there.
  if (option === 'credentials' && secretsOfClients.has(String(inner.at(-1)))) return 'unresolved';
  return Object.hasOwn(standIns, String(option))
    ? standIns[String(option)]
    : plainTexts.has(String(option))
      ? ''
      : undefined;
}

/** Why a text of a server is invalid; it is never repeated, since it may be a secret. */
function mistakeIn([, , option, ...inner]: Path, text: string): string | undefined {
  if (option === 'headers') {
    return /(?!\t)\p{Cc}/u.test(text)
      ? 'a header has one line, and this text has a line break or another control character'
      : /[\u{100}-\u{10FFFF}]/u.test(text)
        ? 'a header has characters of Latin-1 alone (RFC 9110, 5.5), and this text has others'
        : undefined;
  }
  const last = String(inner.at(-1));
  if (option !== 'credentials' || !secretsOfClients.has(last)) return undefined;
  if (text.trim() === '') return 'it is empty';
  return last === 'privateKey' && !isPrivateKey(text)
    ? 'this is no private key: PKCS #8 in PEM is expected ("-----BEGIN PRIVATE KEY-----"; openssl pkcs8 -topk8 -nocrypt makes one of other forms)'
    : undefined;
}

function isPrivateKey(text: string): boolean {
  try {
    return text.includes('-----BEGIN PRIVATE KEY-----') && createPrivateKey(text).type === 'private';
  } catch {
    return false;
  }
}

export class ServerFaults {
  readonly #source: ReferenceSource;
  readonly #problem: Report;
  readonly #fault: Report;
  readonly #areSecretsWithheld: boolean;
  readonly #problems = new Map<string, string>();

  /**
   * @param problem called for an unresolved reference outside servers, which makes the whole configuration unusable.
   * @param fault called for an unresolved reference of one server, and for an invalid text.
   * @param areSecretsWithheld whether secrets of servers may have been replaced by empty texts.
   */
  constructor(source: ReferenceSource, problem: Report, fault: Report, areSecretsWithheld = false) {
    this.#areSecretsWithheld = areSecretsWithheld;
    this.#source = source;
    this.#problem = problem;
    this.#fault = fault;
  }

  /** @returns the value with every reference replaced that can be resolved. */
  substitute(value: unknown): unknown {
    const replaced = this.#replace(value, []);
    if (!isMap(replaced) || !isMap(replaced['mcpServers'])) return replaced;
    const servers = Object.entries(replaced['mcpServers']).map(
      ([name, server]) =>
        [
          name,
          isMap(server) && typeof server['envFile'] === 'string'
            ? this.#withFile(name, server, server['envFile'], valueAt(value, ['mcpServers', name, 'envFile']))
            : server,
        ] as const,
    );
    return { ...replaced, mcpServers: Object.fromEntries(servers) };
  }

  /** @returns the servers; one that cannot be connected to has the reason as `problem`. */
  mark(servers: Config['mcpServers']): Record<string, ServerConfig> {
    return Object.fromEntries(
      Object.entries(servers).map(([name, server]) => {
        const problem = this.#problems.get(name);
        return [name, problem === undefined ? server : { ...server, problem }];
      }),
    );
  }

  #replace(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return this.#resolve(value, path);
    if (Array.isArray(value)) return value.map((item, index) => this.#replace(item, [...path, index]));
    return isMap(value)
      ? Object.fromEntries(
          Object.entries(value)
            .map(([key, item]) => [key, this.#replace(item, [...path, key])])
            .filter(([, item]) => item !== undefined),
        )
      : value;
  }

  #resolve(text: string, path: Path): unknown {
    const [top, name, option] = path;
    // The access to the store cannot come from the store.
    const resolved = resolveReferences(
      text,
      top === 'secrets' ? { ...this.#source, secret: undefined } : this.#source,
      top === 'mcpServers',
    );
    if ('text' in resolved) {
      // An empty text stands for a secret that this process must not hold.
      const mistake =
        top === 'mcpServers' && !(this.#areSecretsWithheld && text === '') ? mistakeIn(path, resolved.text) : undefined;
      if (mistake === undefined) return resolved.text;
      this.#fail(path, mistake);
      return text.includes('{principal.') ? resolved.text : standInFor(path);
    }
    if (top !== 'mcpServers' || typeof name !== 'string' || option === undefined) {
      this.#problem(path, resolved.problem);
      return text;
    }
    if (resolved.isUnasked !== true) this.#fail(path, resolved.problem);
    return standInFor(path);
  }

  /** @param written the name of the file as the configuration has it, which messages repeat. */
  #withFile(name: string, server: Readonly<Record<string, unknown>>, file: string, written: unknown): unknown {
    if (file === '') return { ...server, envFile: undefined };
    try {
      return {
        ...server,
        env: { ...parseEnv(this.#source.readFile(file)), ...(isMap(server['env']) ? server['env'] : {}) },
      };
    } catch (error) {
      this.#fail(
        ['mcpServers', name, 'envFile'],
        written === file
          ? `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`
          : `the file that ${JSON.stringify(written)} stands for cannot be read: a regular file is expected there`,
      );
      return server;
    }
  }

  #fail(path: Path, message: string): void {
    this.#fault(path, `${message}; this server stays down until that is mended`);
    const name = path[1] as string;
    if (!this.#problems.has(name)) this.#problems.set(name, `${formatPath(path.slice(2))}: ${message}`);
  }
}
