/** Clients without sessions that asked something a short while ago, for operators: nothing else says that they are there. */
import {
  clientInfoOf,
  interestMs,
  isObject,
  latestModernRevision,
  metaKeys,
  type Caller,
  type ClientInfo,
  type ModernCommand,
  type Principal,
} from '@omnibus/protocol';

/** A client is forgotten when it has asked nothing for this time, in milliseconds. */
const rememberedMs = 5 * 60_000;
/** Callers that are remembered, and clients of each: further ones are not, until others are forgotten. */
const maxCallers = 500;
const maxClients = 20;
const maxDeclared = 50;
/** Characters of a name, a version or a capability: longer ones are not remembered, and a client with such a name counts as one without a name. */
const maxCharacters = 100;
/** Milliseconds between two searches for clients to forget: with all places in use, every request of another client would cause one. */
const searchMs = 1_000;

/** One client, as operators see it. */
export interface RecentClient {
  readonly client?: ClientInfo;
  readonly revision: string;
  readonly endpoint: string;
  readonly principal: string;
  readonly declared: readonly string[];
  /** Requests since it was first remembered. */
  readonly requests: number;
  readonly idleMs: number;
}

interface Known {
  readonly caller: Caller;
  readonly name: string | undefined;
  readonly info: ClientInfo | undefined;
  readonly declared: readonly string[];
  requests: number;
  at: number;
  /** When its use was last to be told. */
  toldAt: number;
}

export class RecentClients {
  readonly #clients = new Map<Principal, Known[]>();
  #searchedAt = -Infinity;

  /** Notes a request. For a known client this allocates nothing. @param now milliseconds of a monotonic clock. @returns whether adapters are to be told that it uses its endpoint (`Interest`): at first, and at intervals. */
  note({ caller, request, context }: Pick<ModernCommand, 'caller' | 'request' | 'context'>, now: number): boolean {
    const meta = request.params?.['_meta'];
    const said = isObject(meta) ? meta[metaKeys.clientInfo] : undefined;
    const name = isObject(said) ? shortOf(said['name']) : undefined;
    const clients = this.#clients.get(caller.principal);
    if (clients !== undefined)
      for (const known of clients)
        if (known.name === name && known.caller.endpoint === caller.endpoint) {
          known.requests += 1;
          known.at = now;
          if (now - known.toldAt < interestMs) return false;
          known.toldAt = now;
          return true;
        }
    const isFull = clients === undefined ? this.#clients.size >= maxCallers : clients.length >= maxClients;
    if (isFull && now - this.#searchedAt >= searchMs) this.#forget(now);
    if (clients === undefined && this.#clients.size >= maxCallers) return true;
    const of = this.#clients.get(caller.principal) ?? [];
    if (of.length >= maxClients) return true;
    of.push({
      caller,
      name,
      info: isObject(said) ? clientInfoOf({ name, version: shortOf(said['version']) }) : undefined,
      declared: Object.keys(context.capabilities)
        .filter((capability) => capability.length <= maxCharacters)
        .slice(0, maxDeclared),
      requests: 1,
      at: now,
      toldAt: now,
    });
    this.#clients.set(caller.principal, of);
    return true;
  }

  list(now: number): readonly RecentClient[] {
    this.#forget(now);
    return [...this.#clients.values()]
      .flat()
      .map(({ caller: { endpoint, principal }, info, declared, requests, at }) => ({
        ...(info === undefined ? {} : { client: info }),
        revision: latestModernRevision,
        endpoint,
        principal,
        declared,
        requests,
        idleMs: Math.round(now - at),
      }));
  }

  #forget(now: number): void {
    this.#searchedAt = now;
    for (const [principal, clients] of this.#clients) {
      const recent = clients.filter(({ at }) => now - at < rememberedMs);
      if (recent.length === 0) this.#clients.delete(principal);
      else if (recent.length < clients.length) this.#clients.set(principal, recent);
    }
  }
}

/** A text for storage. A part of a long one would hold the whole in memory. */
function shortOf(given: unknown): string | undefined {
  return typeof given === 'string' && given.length <= maxCharacters ? given : undefined;
}
