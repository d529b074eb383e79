/**
 * The properties of a client on which the lists of servers may depend. Some servers offer tools only to clients with certain capabilities, so lists are
 * kept for each set of declared capabilities. A set contains only the names of members that the revisions define, and none of their values, so there are
 * at most a few hundred different sets.
 */
import { anonymous, type Principal } from './ids.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { carriedExtensions } from './modern.ts';

export interface Declared {
  /** All members below in one text, which identifies clients with the same properties. */
  readonly key: string;
  /** Whether the client speaks a revision with sessions. */
  readonly hasSession: boolean;
  /** The questions that it can be asked, with details: "elicitation(form,url) roots". */
  readonly asks: string;
  /** The declared extensions that the gateway supports, separated by spaces. */
  readonly extensions: string;
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
  const { extensions: given } = capabilities;
  const extensions = isObject(given) ? carriedExtensions.filter((name) => isObject(given[name])).join(' ') : '';
  return {
    key: `${hasSession ? 'session' : 'alone'} ${asks.join(' ')} ${extensions}`,
    hasSession,
    asks: asks.join(' '),
    extensions,
    ...(principal === undefined || principal === anonymous ? {} : { owner: principal }),
  };
}

/**
 * The key under which a server's record has the lists for such clients. A server of 2026-07-28 receives the capabilities with each request; it may also
 * speak an older revision, whose lists are for clients with sessions. Extensions are declared to servers of 2026-07-28 only.
 * @returns '' for the common lists.
 */
export function offerKey({ hasSession, asks, extensions }: Declared, isModern: boolean): string {
  if (!isModern) return asks;
  if (hasSession) return `session ${asks}`;
  return asks === '' && extensions === '' ? '' : `alone ${asks} ${extensions}`;
}

/** The key of one user in the record of a server with credentials of each user; '' for no particular user. */
export function ownerKey({ owner, key }: Declared): string {
  return owner === undefined ? '' : `${owner} ${key}`;
}
