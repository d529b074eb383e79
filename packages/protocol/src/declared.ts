/**
 * A client as far as what servers offer depends on it. Some have tools only for clients they may ask something, so what is offered is
 * known for each set of declared capabilities. A set is named by the members that revisions give a meaning, not by what stands in them:
 * whatever clients declare, there are a few hundred of them.
 */
import { anonymous, type Principal } from './ids.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { carriedExtensions } from './modern.ts';

export interface Declared {
  /** Everything below in one text, by which such clients are known. */
  readonly key: string;
  /** It speaks a revision with sessions. */
  readonly hasSession: boolean;
  /** What it may be asked, with the details of each: "elicitation(form,url) roots". */
  readonly asks: string;
  /** Extensions it declares, of those that are carried, separated by spaces. */
  readonly extensions: string;
  /** Whose it is, where that is known: servers with credentials of each user offer each what is his. */
  readonly owner?: Principal;
}

const details: Readonly<Record<string, readonly string[]>> = { elicitation: ['form', 'url'], roots: ['listChanged'], sampling: ['context', 'tools'] };

/** @param capabilities as a client declares them. @param principal whose it is. */
export function declaredBy(capabilities: JsonObject, hasSession: boolean, principal?: Principal): Declared {
  const asks = Object.entries(details).flatMap(([name, parts]) => {
    const declared = capabilities[name];
    if (!isObject(declared)) return [];
    const given = parts.filter((part) => (declared[part] ?? false) !== false);
    return given.length === 0 ? [name] : [`${name}(${given.join(',')})`];
  });
  const { extensions: given } = capabilities;
  const extensions = isObject(given) ? carriedExtensions.filter((name) => isObject(given[name])).join(' ') : '';
  return { key: `${hasSession ? 'session' : 'alone'} ${asks.join(' ')} ${extensions}`, hasSession, asks: asks.join(' '), extensions, ...(principal === undefined || principal === anonymous ? {} : { owner: principal }) };
}

/**
 * Under which name a server's record keeps what such clients are offered. A server of 2026-07-28 hears the capabilities with each request,
 * and may have an older leg besides, which is the one of clients with sessions; extensions go to such servers only.
 * @returns '' for what everybody is offered.
 */
export function offerKey({ hasSession, asks, extensions }: Declared, isModern: boolean): string {
  if (!isModern) return asks;
  if (hasSession) return `session ${asks}`;
  return asks === '' && extensions === '' ? '' : `alone ${asks} ${extensions}`;
}

/** Under which name the record of a server with credentials of each user keeps what one of them is offered; '' for nobody in particular. */
export function ownerKey({ owner, key }: Declared): string {
  return owner === undefined ? '' : `${owner} ${key}`;
}
