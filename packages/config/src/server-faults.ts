/** Resolves the references (`${…}`) in a configuration. One that cannot be resolved in the options of a server only keeps that server from being connected to. */
import { parseEnv } from 'node:util';
import { isMap } from './clients/recognize.ts';
import { formatPath, type Path } from './problem.ts';
import { resolveReferences, type ReferenceSource } from './references.ts';
import type { Config, ServerConfig } from './schema.ts';

type Report = (path: Path, message: string) => void;

/** Stand-ins for options whose reference cannot be resolved, so that the rest of the configuration can be checked. The server is not connected to. */
const standIns: Readonly<Record<string, string>> = { url: 'http://unresolved.invalid/mcp', command: 'unresolved' };
/** Options of a server that may hold any text. */
const plainTexts = new Set(['args', 'env', 'headers', 'cwd', 'envFile', 'description', 'tls']);

export class ServerFaults {
  readonly #source: ReferenceSource;
  readonly #problem: Report;
  readonly #fault: Report;
  readonly #problems = new Map<string, string>();

  /**
   * @param problem called for an unresolved reference outside servers, which makes the whole configuration unusable.
   * @param fault called for an unresolved reference of one server.
   */
  constructor(source: ReferenceSource, problem: Report, fault: Report) {
    this.#source = source;
    this.#problem = problem;
    this.#fault = fault;
  }

  /** @returns the value with every reference replaced that can be resolved. */
  substitute(value: unknown): unknown {
    const replaced = this.#replace(value, []);
    if (!isMap(replaced) || !isMap(replaced['mcpServers'])) return replaced;
    const servers = Object.entries(replaced['mcpServers']).map(([name, server]) => [name, isMap(server) && typeof server['envFile'] === 'string' ? this.#withFile(name, server, server['envFile']) : server] as const);
    return { ...replaced, mcpServers: Object.fromEntries(servers) };
  }

  /** @returns the servers; one that cannot be connected to has the reason as `problem`. */
  mark(servers: Config['mcpServers']): Record<string, ServerConfig> {
    return Object.fromEntries(Object.entries(servers).map(([name, server]) => {
      const problem = this.#problems.get(name);
      return [name, problem === undefined ? server : { ...server, problem }];
    }));
  }

  #replace(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return this.#resolve(value, path);
    if (Array.isArray(value)) return value.map((item, index) => this.#replace(item, [...path, index]));
    return isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#replace(item, [...path, key])]).filter(([, item]) => item !== undefined)) : value;
  }

  #resolve(text: string, path: Path): unknown {
    const [top, name, option] = path;
    // What says how the store is asked cannot come from it.
    const resolved = resolveReferences(text, top === 'secrets' ? { ...this.#source, secret: undefined } : this.#source, top === 'mcpServers');
    if ('text' in resolved) return resolved.text;
    if (top !== 'mcpServers' || typeof name !== 'string' || option === undefined) {
      this.#problem(path, resolved.problem);
      return text;
    }
    if (resolved.isUnasked !== true) this.#fail(path, resolved.problem);
    return Object.hasOwn(standIns, String(option)) ? standIns[String(option)] : plainTexts.has(String(option)) ? '' : undefined;
  }

  #withFile(name: string, server: Readonly<Record<string, unknown>>, file: string): unknown {
    if (file === '') return { ...server, envFile: undefined };
    try {
      return { ...server, env: { ...parseEnv(this.#source.readFile(file)), ...(isMap(server['env']) ? server['env'] : {}) } };
    } catch (error) {
      this.#fail(['mcpServers', name, 'envFile'], `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return server;
    }
  }

  #fail(path: Path, message: string): void {
    this.#fault(path, `${message}; this server stays down until that is mended`);
    const name = path[1] as string;
    if (!this.#problems.has(name)) this.#problems.set(name, `${formatPath(path.slice(2))}: ${message}`);
  }
}
