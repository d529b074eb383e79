/**
 * The properties of a client on which the lists of servers may depend. Some servers offer tools only to clients with certain capabilities, so lists are
 * kept for each set of declared capabilities. A set contains only the names of members that the revisions define and of extensions that the server has or the
 * gateway knows, and none of their values, so there are at most a few hundred different sets.
 */
import type { OfferCaller } from './exchange.ts';
import { anonymous, type Principal } from './ids.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { extensionsFor, extensionsOf } from './modern.ts';

export interface Declared {
  /** All members below in one text, which identifies clients with the same properties. */
  readonly key: string;
  /** Whether the client speaks a revision with sessions. */
  readonly hasSession: boolean;
  /** The questions that it can answer, with details: "elicitation(form,url) roots". */
  readonly asks: string;
  /** The declared extensions, without their settings. */
  readonly extensions: JsonObject;
  /** The caller, where it is known: a server with credentials of each user may offer different lists to each. */
  readonly owner?: Principal;
}

const details: Readonly<Record<string, readonly string[]>> = {
  elicitation: ['form', 'url'],
  roots: ['listChanged'],
  sampling: ['context', 'tools'],
};

/** @param capabilities as the client declares them. @param principal of the caller. */
export function declaredBy(capabilities: JsonObject, hasSession: boolean, principal?: Principal): Declared {
  const asks = Object.entries(details).flatMap(([name, parts]) => {
    const declared = capabilities[name];
    if (!isObject(declared)) return [];
    const given = parts.filter((part) => (declared[part] ?? false) !== false);
    return given.length === 0 ? [name] : [`${name}(${given.join(',')})`];
  });
  const names = Object.keys(extensionsOf(capabilities));
  return {
    key: `${hasSession ? 'session' : 'alone'} ${asks.join(' ')} ${names.join(' ')}`,
    hasSession,
    asks: asks.join(' '),
    extensions: Object.fromEntries(names.map((name) => [name, {}])),
    ...(principal === undefined || principal === anonymous ? {} : { owner: principal }),
  };
}

/** The same of a caller. */
export function declaredOf(
  { capabilities, standsAlone }: Pick<OfferCaller, 'capabilities' | 'standsAlone'>,
  principal?: Principal,
): Declared {
  return declaredBy(capabilities, !standsAlone, principal);
}

/**
 * The key under which a server's record has the lists for such clients. A server of 2026-07-28 receives the capabilities with each request; it may also
 * speak an older revision, with lists for clients with sessions.
 * @param server its capabilities.
 * @returns '' for the common lists.
 */
export function offerKey(
  { hasSession, asks, extensions: given }: Declared,
  isModern: boolean,
  server: JsonObject,
): string {
  const extensions = Object.keys(extensionsFor({ extensions: given }, server, isModern)).join(' ');
  const set = extensions === '' ? asks : `${asks} ${extensions}`;
  if (!isModern) return set;
  if (hasSession) return `session ${set}`;
  return set === '' ? '' : `alone ${set}`;
}

/** The key of one user in the record of a server with credentials of each user; '' for no particular user. */
export function ownerKey({ owner, key }: Declared): string {
  return owner === undefined ? '' : `${owner} ${key}`;
}
