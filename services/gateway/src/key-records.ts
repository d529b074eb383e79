/** What commands and the admin port do with the file of API keys. What is thrown is said in words for the operator. */
import { existsSync, readFileSync } from 'node:fs';
import { formatKeys, newKey, parseKeys, type KeyRecord } from '@omnibus/identity';
import { rewrite } from './rewrite.ts';

/** What a new key is to be. */
export interface NewKey {
  readonly subject: string;
  readonly tenant?: string | undefined;
  readonly groups: readonly string[];
  /** `/mcp` is the endpoint of all servers. Default: every endpoint. */
  readonly endpoints?: readonly string[] | undefined;
  /** A number of days such as `90d`, or a date. */
  readonly expires?: string | undefined;
  readonly note?: string | undefined;
}

const dayMs = 86_400_000;

/** @throws {Error} */
export function readKeys(file: string): readonly KeyRecord[] {
  try {
    return parseKeys(readFileSync(file, 'utf8'));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(isMissing ? `there is no ${file}; make a key with: omnibus keys create --subject NAME` : `${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws {Error} */
export function addKey(file: string, { subject, tenant, groups, endpoints, expires, note }: NewKey): { readonly id: string; readonly key: string } {
  const until = expires === undefined ? undefined : dateOf(expires);
  if (expires !== undefined && until === undefined) throw new Error(`expires: expected a number of days such as "90d", or a date such as "2027-01-31", not ${JSON.stringify(expires)}`);
  // `/mcp` itself has no name.
  const { key, record } = newKey({ subject, tenant, groups: [...groups], endpoints: endpoints?.map((name) => (name === '/mcp' ? '' : name)), expires: until, note });
  change(file, (keys) => [...keys, record]);
  return { id: record.id, key };
}

/** A revoked key stays in the file, so that its id is never given again and the list shows what became of it. @throws {Error} */
export function revokeKeyIn(file: string, id: string): void {
  const now = new Date().toISOString();
  change(file, (keys) => {
    if (!keys.some((key) => key.id === id)) throw new Error(`there is no key ${JSON.stringify(id)}; omnibus keys list shows those there are`);
    return keys.map((key) => (key.id === id ? { ...key, revoked: key.revoked ?? now } : key));
  });
}

/** Changes the file of keys, which nobody else changes meanwhile. */
function change(file: string, make: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): void {
  const problem = rewrite(file, () => {
    const text = formatKeys(make(existsSync(file) ? readKeys(file) : []));
    parseKeys(text); // What the gateway would not take is not written.
    return { text };
  });
  if (problem !== undefined) throw new Error(problem);
}

/** @returns undefined when it is neither. */
function dateOf(text: string): string | undefined {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(Date.now() + Number(days) * dayMs).toISOString();
  return /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : undefined;
}
