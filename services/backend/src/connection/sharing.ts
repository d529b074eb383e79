/**
 * Decides which requests may use the same connection, at the same time or one after the other.
 *
 * A caller is a session; or the single connection over which a client of 2026-07-28 makes all its requests; or the user of such requests. Several clients
 * of one user then share a server's state, but never roots, and share nothing any more once the server asks a question without naming its client. Any
 * other request is a caller of its own: it has a connection alone while it runs, and the next request gets that connection only if the server has asked
 * nothing over it, so that neither roots nor answers stay behind.
 *
 * State that a server keeps for a connection (in a program's memory, or in a session) is visible to all users of the connection. So each known
 * caller has a connection of its own at such a server, shared by those of its sessions and clients that the server may ask nothing.
 */
import { mannerOf, anonymous, type ExchangeContext, type JsonObject } from '@omnibus/protocol';
import type { Leg } from '../dialect/leg.ts';
import type { UpstreamConnection } from './connection.ts';

/** `auto`: callers that the server may ask nothing share one connection, except that each known caller has its own where the server keeps state; all others have their own. */
export type Isolation = 'auto' | 'shared' | 'principal' | 'session';

export interface SharingOptions {
  readonly isolation: Isolation;
  /** Whether each known caller has its own identity at the server, so that connections of one caller serve no other (I4). */
  readonly isOwned: boolean;
  /** Whether each connection has a program of its own (stdio). */
  readonly isProgram: boolean;
  /** Whether the transport shows which request a message of the server belongs to. */
  readonly namesRequests: () => boolean;
  /** Whether the server may keep state for a connection over a given leg. */
  readonly keepsState: (leg: Leg) => boolean;
  /** All connections except the base. */
  readonly connections: () => readonly UpstreamConnection[];
}

export class Sharing {
  readonly #options: SharingOptions;
  #asksUnnamed = false;
  #readsRoots = false;

  constructor(options: SharingOptions) {
    this.#options = options;
  }

  /**
   * The server has asked without telling which client it means. From now on a question is attributed only on a connection that has served a single caller,
   * and requests without a session no longer share connections, not even one after the other.
   */
  asksUnnamed(): void {
    this.#asksUnnamed = true;
  }

  /** Whether the call uses a shared connection. @param leg over which it travels. */
  isShared(context: ExchangeContext, leg: Leg): boolean {
    const capabilities = askableOver(leg, context);
    if (this.#options.isOwned) return false; // I4
    return (
      this.apart(context, leg, capabilities) === undefined && (leg.servesEverybody || this.needsNoOwn(capabilities))
    );
  }

  /**
   * The owner of a separate connection for a call that would use the shared one at a stateless server.
   * @param capabilities what `askableOver` gives for the call.
   * @returns the known caller, or the unshared session or client; undefined where the shared connection will do.
   */
  apart(context: ExchangeContext, leg: Leg, capabilities: JsonObject): string | undefined {
    const { principal, session, client } = context;
    const { isolation, keepsState, isOwned } = this.#options;
    const known = principal === anonymous ? undefined : principal;
    if (isOwned) return Object.keys(capabilities).length > 0 ? undefined : (known ?? session); // I4
    if (isolation === 'shared' || (isolation === 'auto' && known === undefined)) return undefined;
    if (Object.keys(capabilities).length > 0 || !keepsState(leg)) return undefined;
    if (isolation !== 'session' && known !== undefined) return known;
    // On other legs, callers that do not share have connections of their own anyway.
    if (!leg.servesEverybody) return undefined;
    if (mannerOf(context).lasts) return session;
    return client?.isOne === true ? client.id : known;
  }

  /** Whether a caller can use the shared connection. @param capabilities for questions to the caller. */
  needsNoOwn(capabilities: JsonObject): boolean {
    const { isolation, isOwned } = this.#options;
    if (isOwned) return false; // I4
    return isolation === 'shared' || (isolation === 'auto' && Object.keys(capabilities).length === 0);
  }

  /** The key of a caller; an anonymous caller is known by its session only. */
  callerOf({ principal, session }: ExchangeContext): string {
    return (this.#options.isolation === 'principal' || this.#options.isOwned) && principal !== anonymous
      ? principal
      : session;
  }

  /** Whether the roots of a request's client decide which of the user's connections may serve it, because the server reads roots. */
  mustKnowRoots(context: ExchangeContext, leg: Leg): boolean {
    return this.sharedPool(context, leg, askableOver(leg, context)) !== undefined && this.#hasReadRoots();
  }

  #hasReadRoots(): boolean {
    this.#readsRoots ||= this.#options.connections().some(({ asked }) => asked.roots !== undefined);
    return this.#readsRoots;
  }

  /**
   * The key of requests of one user that may use the same connections; undefined where none may be shared.
   * @param capabilities what `askableOver` gives for the call.
   * @param mark of the caller's identity.
   */
  sharedPool(context: ExchangeContext, leg: Leg, capabilities: JsonObject, mark = ''): string | undefined {
    const { client, principal } = context;
    const { isolation, isProgram } = this.#options;
    // Later questions of such a server would look like its questions for the next request.
    if (client === undefined || client.isOne || isolation === 'session' || this.#asksUnnamed) return undefined;
    if (mannerOf(context).lasts) return undefined;
    if (this.needsNoOwn(capabilities) || leg.servesEverybody) return undefined;
    // Asking for the roots first costs the client a round trip with each request. The state of a program is worth that; a connection to a
    // server that runs already is opened for the request alone.
    if ('roots' in capabilities && !isProgram && this.#hasReadRoots()) return undefined;
    return `user ${principal} ${client.id} ${JSON.stringify(capabilities)}${mark}`;
  }

  /** Whether a request has no caller that makes more requests, as far as the gateway can tell. */
  isAlone(context: ExchangeContext): boolean {
    return context.client?.isOne !== true && !mannerOf(context).lasts;
  }

  /** Whether requests like this one may have to wait for their turn: a session has connections of its own, and only programs keep what one request leaves behind. */
  mayWait(context: ExchangeContext): boolean {
    return this.#options.isProgram && !mannerOf(context).lasts;
  }

  /** Whether requests must be sent one at a time, because roots may be read or the wire does not tell which request a question belongs to. */
  isTakenInTurn(capabilities: JsonObject): boolean {
    return 'roots' in capabilities || !this.#options.namesRequests();
  }

  /** Whether a request without a session may get the connection of an ended one. */
  mayServeAnother({ asked }: UpstreamConnection): boolean {
    return this.#options.isolation === 'auto' && !this.#options.isOwned && !asked.wereAsked && !this.#asksUnnamed; // I3
  }
}

const nothing: JsonObject = {};

/** Capabilities of a connection's users over this leg; none if the server asks in answers to requests. */
export function askableOver(leg: Leg, context: ExchangeContext): JsonObject {
  return leg.servesEverybody ? nothing : askable(context);
}

/** The caller's capabilities for questions. */
export function askable({ capabilities: { extensions: _extensions, ...capabilities } }: ExchangeContext): JsonObject {
  return capabilities;
}
