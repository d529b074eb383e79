/**
 * The pools of HTTP connections of the process: one for servers of the operator's own file, one for each address rule of other servers and each option `proxy`,
 * and those of servers with `tls`.
 */
import type { Socket } from 'node:net';
import { callbackify, isDeepStrictEqual } from 'node:util';
import { openTunnel, proxyTo, type ProxyTarget } from '@omnibus/lifecycle';
import type * as undici from 'undici';
import { forbiddenHost, lookupUnder, refusal, type AddressRule } from './address-rule.ts';
import { PostAgent } from './post/post-agent.ts';
import { hostAndPort, type ServerTls, type TlsMaterial } from './server-tls.ts';
import { Agent, buildConnector } from './undici-parts.ts';

const connectTimeoutMs = 10_000;
/**
 * No time limits for bodies and headers: each call has a time limit of its own.
 *
 * A request on a connection that its server closes at that moment has an unknown outcome. So an idle connection ends here long before it ends there: servers in Python
 * (uvicorn) close it after five seconds and do not say so. The four seconds of undici are too many, since its timers run late on a busy machine. Of a server that
 * says when it closes (`Keep-Alive: timeout=5`), undici keeps a distance of two seconds.
 */
const shared = { bodyTimeout: 0, headersTimeout: 0, keepAliveTimeout: 2_000 };

/** Pools of one server: an address rule leads to the same pool until its `tls` changes. */
interface OwnPool {
  readonly id: string;
  readonly agent: undici.Agent;
  /** That of the configuration before, which adapters that still drain use. */
  readonly before: undici.Agent | undefined;
}

export class Agents {
  readonly #free = new PostAgent({ ...shared, connect: connectorTo(undefined) });
  /** Pools by their address rule and proxy, written as JSON. */
  readonly #guarded = new Map<string, PostAgent>();
  /** Pools of servers with `tls`, by server, address rule and proxy; as many as there were names of such servers. */
  readonly #own = new Map<string, OwnPool>();

  /**
   * @param rule undefined where any address is allowed.
   * @param tls of the server, for connections to it; undefined for a server without.
   * @param proxy the option of the server; undefined where the environment of the process decides.
   */
  of(rule: AddressRule | undefined, tls?: ServerTls, proxy?: string): undici.Dispatcher {
    if (tls !== undefined) return this.#ownOf(rule, tls, proxy);
    if (rule === undefined && proxy === undefined) return this.#free;
    const key = JSON.stringify([rule, proxy]);
    const known = this.#guarded.get(key);
    if (known !== undefined) return known;
    const agent = new PostAgent({ ...shared, connect: connectorTo(rule, undefined, proxy) });
    this.#guarded.set(key, agent);
    return agent;
  }

  /** A connection with another certificate must not serve a configuration with this one, so a changed configuration gets a pool of its own. */
  #ownOf(rule: AddressRule | undefined, tls: ServerTls, proxy: string | undefined): undici.Agent {
    const key = JSON.stringify([tls.server, rule, proxy]);
    const known = this.#own.get(key);
    if (known?.id === tls.id) return known.agent;
    void known?.before?.close();
    const agent = new Agent({ ...shared, connect: connectorTo(rule, tls, proxy) });
    this.#own.set(key, { id: tls.id, agent, before: known?.agent });
    return agent;
  }

  async destroy(): Promise<void> {
    const own = [...this.#own.values()].flatMap(({ agent, before }) => [agent, before ?? []].flat());
    await Promise.all([
      ...[this.#free, ...this.#guarded.values()].map((agent) => agent.end()),
      ...own.map((agent) => agent.destroy()),
    ]);
  }
}

/**
 * Checks a literal address, which is never resolved; names are checked when they are resolved (`lookupUnder`). A connection to the server with `tls` is opened with
 * what its files say then.
 * @param proxy the option of the server; undefined where the environment decides.
 */
function connectorTo(rule: AddressRule | undefined, tls?: ServerTls, proxy?: string): undici.buildConnector.connector {
  const made = (material: TlsMaterial): undici.buildConnector.connector =>
    buildConnector({
      timeout: connectTimeoutMs,
      ...(rule === undefined ? {} : { lookup: lookupUnder(rule) }),
      ...material,
    });
  const plain = made({});
  /** Remembers TLS sessions, so it is replaced with the files. */
  let own: { readonly material: TlsMaterial; readonly connect: undici.buildConnector.connector } | undefined;
  const connect: undici.buildConnector.connector = (options, callback) => {
    if (
      tls === undefined ||
      options.protocol !== 'https:' ||
      hostAndPort(options.hostname, options.port) !== tls.host
    ) {
      plain(options, callback);
      return;
    }
    try {
      const material = tls.read();
      if (own === undefined || !isDeepStrictEqual(own.material, material)) own = { material, connect: made(material) };
      own.connect(options, callback);
    } catch (error) {
      callback(error as Error, null);
    }
  };
  return (options, callback) => {
    const problem = rule === undefined ? undefined : forbiddenHost(options.hostname, rule);
    const through = proxyTo(options, proxy);
    if (problem !== undefined) callback(refusal(problem, rule ?? {}), null);
    else if (through === undefined) connect(options, callback);
    else
      open(through, options, rule, (error, socket) => {
        if (error !== null) callback(error, null);
        else if (options.protocol === 'https:') connect({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      });
  };
}

/**
 * A connection through a proxy, which resolves the name itself. Under an address rule the name is resolved here too, and must lead to allowed addresses only.
 */
export async function tunnelled(proxy: URL, target: ProxyTarget, rule: AddressRule | undefined): Promise<Socket> {
  if (rule !== undefined && !rule.allowedHosts.includes(target.hostname)) await untilAllowed(target.hostname, rule);
  return openTunnel(proxy, target, connectTimeoutMs);
}

const open = callbackify(tunnelled);

function untilAllowed(hostname: string, rule: AddressRule): Promise<void> {
  return new Promise((resolve, reject) => {
    lookupUnder(rule)(hostname.replace(/^\[|\]$/g, ''), { all: true }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}
