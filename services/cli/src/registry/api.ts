/**
 * A client of registries of MCP servers. Source: the OpenAPI document of the MCP registry, 2025-12-01 (`GET /v0.1/servers`,
 * `GET /v0.1/servers/{name}/versions/{version}`), and its earlier form under `/v0`.
 */
import { CommandProblem } from '@omnibus/client';
import { isLoopback } from '@omnibus/config';
import { isObject, printable, readWithin, type JsonObject } from '@omnibus/protocol';

const timeoutMs = 30_000;
const maxBytes = 8 * 1024 * 1024;
/** Pages that one search reads. */
const maxPages = 50;
const pageSize = 100;
/** Paths of the API, the newer first. */
const roots = ['/v0.1', '/v0'] as const;

/** A server as the registry describes it: `server.json`, and the registry's own facts. */
export interface Listed {
  readonly server: JsonObject & { readonly name: string };
  readonly status: string | undefined;
}

export class Registry {
  readonly #base: string;
  readonly #token: string | undefined;
  /** The path that the registry knows; undefined until the first answer. */
  #root: string | undefined;

  /** @param token sent as `Authorization: Bearer`. @throws {CommandProblem} if the address is none, or would show the token to the network. */
  constructor(address: string, token: string | undefined) {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new CommandProblem('usage', `${JSON.stringify(address)} is no address of a registry`, {
        advice: 'Give one that begins with https://, by --registry or OMNIBUS_REGISTRY.',
      });
    if (token !== undefined && url.protocol === 'http:' && !isLoopback(url.hostname))
      throw new CommandProblem('usage', `the token would cross the network unencrypted to ${url.host}`, {
        advice: 'Use the https:// address of the registry, or unset OMNIBUS_REGISTRY_TOKEN.',
      });
    const path = url.pathname.replace(/\/+$/, '');
    const root = roots.find((each) => path.endsWith(each));
    this.#root = root;
    this.#base = url.origin + (root === undefined ? path : path.slice(0, -root.length));
    this.#token = token;
  }

  /** Servers whose names contain the words, in their latest versions. */
  async search(words: string, limit: number): Promise<{ readonly found: readonly Listed[]; readonly isCut: boolean }> {
    const found = new Map<string, Listed>();
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const query = new URLSearchParams({ limit: String(pageSize), version: 'latest' });
      if (words !== '') query.set('search', words);
      if (cursor !== undefined) query.set('cursor', cursor);
      const answer = await this.#get(`/servers?${query.toString()}`);
      const listed = isObject(answer) && Array.isArray(answer['servers']) ? answer['servers'] : undefined;
      if (listed === undefined) throw this.#wrong('its list has no servers');
      for (const each of listed as unknown[]) {
        const server = listedOf(each);
        if (server === undefined || server.status === 'deleted') continue;
        found.delete(server.server.name);
        found.set(server.server.name, server);
      }
      const next = nextCursor(answer as JsonObject);
      if (found.size > limit || next === undefined)
        return { found: [...found.values()].slice(0, limit), isCut: found.size > limit };
      // A registry that repeats itself would be asked for ever.
      if (next === cursor) throw this.#wrong('its cursor does not advance');
      cursor = next;
    }
    return { found: [...found.values()].slice(0, limit), isCut: true };
  }

  /** @param version undefined for the latest. @throws {CommandProblem} if there is no such server. */
  async server(name: string, version = 'latest'): Promise<Listed> {
    const answer = await this.#get(
      `/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`,
      true,
    );
    const server = answer === undefined ? undefined : listedOf(answer);
    if (server === undefined || server.server.name !== name)
      throw new CommandProblem(
        'unknown',
        `the registry at ${this.#base} has no server ${JSON.stringify(name)}${version === 'latest' ? '' : ` in version ${version}`}`,
        { advice: 'Find its name: omnibus search WORDS.' },
      );
    return server;
  }

  /** @param mayBeUnknown whether 404 stands for no answer. */
  async #get(path: string, mayBeUnknown = false): Promise<unknown> {
    for (const root of this.#root === undefined ? roots : [this.#root]) {
      const response = await this.#fetch(`${this.#base}${root}${path}`);
      if (response.status === 404) {
        await response.body?.cancel();
        continue;
      }
      await this.#check(response);
      this.#root = root;
      return this.#json(response);
    }
    if (mayBeUnknown) return undefined;
    throw this.#wrong(`there is no list of servers (404): it is no registry of MCP servers, or has another path`);
  }

  async #fetch(url: string): Promise<Response> {
    try {
      return await fetch(url, {
        headers: {
          accept: 'application/json',
          ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        },
        // A token is for this registry alone.
        redirect: this.#token === undefined ? 'follow' : 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      const { message, cause } = error as Error;
      throw new CommandProblem(
        'unreachable',
        `the registry at ${this.#base} cannot be reached: ${cause instanceof Error ? cause.message : message}`,
      );
    }
  }

  async #check({ ok, status, body }: Response): Promise<void> {
    if (ok) return;
    await body?.cancel();
    if (status === 401 || status === 403)
      throw new CommandProblem(
        'forbidden',
        `the registry at ${this.#base} ${this.#token === undefined ? 'needs a token' : 'rejects the token'} (${status})`,
        { advice: 'Set OMNIBUS_REGISTRY_TOKEN to a token of this registry.' },
      );
    throw this.#wrong(`it answers with status ${status}`);
  }

  async #json({ body }: Response): Promise<unknown> {
    const bytes = await readWithin(body, maxBytes, () => this.#wrong(`an answer has more than ${maxBytes} bytes`));
    try {
      return JSON.parse(bytes.toString()) as unknown;
    } catch {
      throw this.#wrong('its answer is no JSON');
    }
  }

  #wrong(problem: string): CommandProblem {
    return new CommandProblem('other', `the registry at ${this.#base} cannot be used: ${problem}`, {
      advice: 'Check the address: --registry or OMNIBUS_REGISTRY.',
    });
  }
}

function nextCursor({ metadata }: JsonObject): string | undefined {
  const next = isObject(metadata) ? (metadata['nextCursor'] ?? metadata['next_cursor']) : undefined;
  return typeof next === 'string' && next !== '' ? next : undefined;
}

/** An entry of a list: a server beside the registry's facts, or the server itself in the earlier form. */
function listedOf(entry: unknown): Listed | undefined {
  if (!isObject(entry)) return undefined;
  const server = isObject(entry['server']) ? entry['server'] : entry;
  const { name } = server;
  if (typeof name !== 'string' || name === '' || name !== printable(name, 200)) return undefined;
  const meta = isObject(entry['_meta']) ? entry['_meta']['io.modelcontextprotocol.registry/official'] : undefined;
  const status = isObject(meta) ? meta['status'] : server['status'];
  return { server: { ...server, name }, status: typeof status === 'string' ? status : undefined };
}
