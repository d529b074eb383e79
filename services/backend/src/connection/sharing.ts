/**
 * Which requests may be served by one connection of their own kind, together or one after the other.
 *
 * A caller is a session, or the one connection over which a client of 2026-07-28 makes all its requests, or the user whose such requests
 * are: several clients of one user may make them, which share what a server keeps, but never roots, and nothing any more once the server
 * asks without saying on whose behalf. Any other request is a caller of its own: it has a connection alone while it runs, and the next one
 * is given that connection only when the server has asked nothing over it, so that neither roots nor answers stay behind.
 *
 * What a server keeps for a connection (in a program's memory, or for a session) would be found by everybody whom the connection serves. Where
 * callers are known, each has one of his own there, which all of his sessions and clients share that may be asked nothing.
 */
import { anonymous, type ExchangeContext, type JsonObject } from '@omnibus/protocol';
import type { Leg } from '../dialect/older-leg.ts';
import type { UpstreamConnection } from './connection.ts';

/** `auto`: one connection for callers that may be asked nothing, a known one his own where something is kept for it; others have their own. */
export type Isolation = 'auto' | 'shared' | 'principal' | 'session';

export interface SharingOptions {
  readonly isolation: Isolation;
  /** Each known caller is shown to the server in his own name: his connections serve nobody else (I4). */
  readonly isOwned: boolean;
  /** Behind each connection is a program of its own. */
  readonly isProgram: boolean;
  /** Which request a message of the server belongs to is seen by what carried it. */
  readonly namesRequests: () => boolean;
  /** The server may keep something for the connection over which it is talked to so. */
  readonly keepsState: (leg: Leg) => boolean;
  /** All besides the base. */
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
   * The server asks without saying on whose behalf. Then only a connection that has served one caller tells whose a question is, and
   * requests without a session do not share any more, not even one after the other.
   */
  asksUnnamed(): void {
    this.#asksUnnamed = true;
  }

  /** The call goes over a connection that serves everybody. @param leg over which it travels. */
  isShared(context: ExchangeContext, leg: Leg): boolean {
    const capabilities = askableOver(leg, context);
    if (this.#options.isOwned) return false; // I4
    return this.apart(context, leg, capabilities) === undefined && (servesEverybody(leg) || this.needsNoOwn(capabilities));
  }

  /**
   * Whose connection a call goes over that would go over the one of everybody if the server kept nothing for it.
   * @param capabilities what `askableOver` says of the call.
   * @returns the known caller, or the session or client that is to share with nobody; undefined where everybody's will do.
   */
  apart({ principal, session, standsAlone, client }: ExchangeContext, leg: Leg, capabilities: JsonObject): string | undefined {
    const { isolation, keepsState, isOwned } = this.#options;
    const known = principal === anonymous ? undefined : principal;
    if (isOwned) return Object.keys(capabilities).length > 0 ? undefined : (known ?? session); // I4
    if (isolation === 'shared' || (isolation === 'auto' && known === undefined)) return undefined;
    if (Object.keys(capabilities).length > 0 || !keepsState(leg)) return undefined;
    if (isolation !== 'session' && known !== undefined) return known;
    // On the other legs whoever is not to share has a connection of his own anyway.
    if (!servesEverybody(leg)) return undefined;
    return standsAlone ? (client?.isOne === true ? client.id : known) : session;
  }

  /** @param capabilities what a server may ask of the caller. */
  needsNoOwn(capabilities: JsonObject): boolean {
    const { isolation, isOwned } = this.#options;
    if (isOwned) return false; // I4
    return isolation === 'shared' || (isolation === 'auto' && Object.keys(capabilities).length === 0);
  }

  /** Who is nobody in particular is known by the session. */
  callerOf({ principal, session }: ExchangeContext): string {
    return (this.#options.isolation === 'principal' || this.#options.isOwned) && principal !== anonymous ? principal : session;
  }

  /** The server reads roots: which of the user's connections may serve this request, only the roots of its client tell. */
  mustKnowRoots(context: ExchangeContext, leg: Leg): boolean {
    return this.sharedPool(context, leg, askableOver(leg, context)) !== undefined && this.#hasReadRoots();
  }

  #hasReadRoots(): boolean {
    this.#readsRoots ||= this.#options.connections().some(({ asked }) => asked.roots !== undefined);
    return this.#readsRoots;
  }

  /**
   * What requests of one user have in common that are served by the same connections; undefined where that may not be.
   * @param capabilities what `askableOver` says of the call.
   */
  sharedPool({ client, standsAlone, principal }: ExchangeContext, leg: Leg, capabilities: JsonObject): string | undefined {
    const { isolation, isProgram } = this.#options;
    // What such a server asks later, nothing would tell from what it asks for the next request.
    if (!standsAlone || client === undefined || client.isOne || isolation === 'session' || this.#asksUnnamed) return undefined;
    if (this.needsNoOwn(capabilities) || servesEverybody(leg)) return undefined;
    // To ask for the roots first costs the client a round with each request. A program keeps what is worth that; a connection to a server
    // that runs already is opened for the request alone.
    if ('roots' in capabilities && !isProgram && this.#hasReadRoots()) return undefined;
    return `user ${principal} ${client.id} ${JSON.stringify(capabilities)}`;
  }

  /** Where a client's roots may be read, no other's request is to be on its way. */
  isTakenInTurn(capabilities: JsonObject): boolean {
    return 'roots' in capabilities || !this.#options.namesRequests();
  }

  /** Another request that stands alone may be given the connection of one that has ended. */
  mayServeAnother({ asked }: UpstreamConnection): boolean {
    return this.#options.isolation === 'auto' && !this.#options.isOwned && !asked.wereAsked && !this.#asksUnnamed; // I3
  }
}

/** Over such a leg each request says itself what its client can do, and one connection serves everybody. */
export function servesEverybody(leg: Leg): boolean {
  return leg === 'newer' || leg === 'unknown';
}

const nothing: JsonObject = {};

/** What a server may ask of whoever uses a connection over this leg; nothing where it asks in its answers to requests. */
export function askableOver(leg: Leg, context: ExchangeContext): JsonObject {
  return servesEverybody(leg) ? nothing : askable(context);
}

/** What a server may ask of the caller. */
export function askable({ capabilities: { extensions: _extensions, ...capabilities } }: ExchangeContext): JsonObject {
  return capabilities;
}
