/** Reads and changes the file of API keys, for commands and the admin port. Errors have messages for the operator. */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { formatKeys, isKey, newKey, parseKeys, type KeyRecord } from '@omnibus/identity';
import { selectorProblem } from '@omnibus/protocol';
import { rewrite } from './rewrite.ts';

export interface NewKey {
  readonly subject: string;
  readonly tenant?: string | undefined;
  readonly groups: readonly string[];
  /** Endpoints that the key is good for; `/mcp` is that of all servers. Default: every endpoint. */
  readonly endpoints?: readonly string[] | undefined;
  /** Patterns as in rules, such as `github/get_*`. Default: everything that the rules permit. */
  readonly tools?: readonly string[] | undefined;
  /** A number of days such as `90d`, or a date. */
  readonly expires?: string | undefined;
  readonly note?: string | undefined;
}

const dayMs = 86_400_000;

/** @throws {Error} where the file is missing, or is not a file of keys. */
export function readKeys(file: string): readonly KeyRecord[] {
  try {
    return parseKeys(readFileSync(file, 'utf8'), selectorProblem);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(
      isMissing
        ? `there is no ${file}; make a key with: omnibus keys create --subject NAME`
        : `${file}: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Makes a key and adds its digest to the file. @returns the key itself, which is stored nowhere. @throws {Error} where `expires` is neither, or the file cannot be written. */
export async function addKey(
  file: string,
  { subject, tenant, groups, endpoints, tools, expires, note }: NewKey,
): Promise<{ readonly id: string; readonly key: string }> {
  const until = expires === undefined ? undefined : dateOf(expires);
  if (expires !== undefined && until === undefined)
    throw new Error(
      `expires: expected a number of days such as "90d", or a date such as "2027-01-31", not ${JSON.stringify(expires)}`,
    );
  if (until !== undefined && Date.parse(until) <= Date.now())
    throw new Error(`expires: ${JSON.stringify(expires)} is not in the future`);
  // Clients have the path of an endpoint; that of all servers has the empty name.
  const { key, record } = newKey({
    subject,
    tenant,
    groups: [...groups],
    endpoints: endpoints?.map((name) => name.replace(/^\/mcp(\/|$)/, '')),
    tools: tools === undefined ? undefined : [...tools],
    expires: until,
    note,
  });
  await change(file, (keys) => [...keys, record]);
  return { id: record.id, key };
}

export class UnknownKey extends Error {}

/**
 * Marks a key as revoked. It stays in the file, so that its id is never used again and the list shows that it was revoked.
 * @param given its id, or the whole key, which the finder of a leaked key has.
 * @returns its id.
 * @throws {UnknownKey} where there is no such key; the message does not repeat a whole one.
 */
export async function revokeKeyIn(file: string, given: string): Promise<string> {
  const now = new Date().toISOString();
  const isWhole = isKey(given);
  const digest = isWhole ? hash('sha256', given, 'hex') : undefined;
  let id = '';
  await change(file, (keys) => {
    const found = keys.find((key) => (isWhole ? key.hash === digest : key.id === given));
    if (found === undefined)
      throw new UnknownKey(`${file} has ${isWhole ? 'no such key' : `no key ${JSON.stringify(given)}`}`);
    ({ id } = found);
    return keys.map((key) => (key === found ? { ...key, revoked: key.revoked ?? now } : key));
  });
  return id;
}

/** Changes the file of keys under its lock. @throws {Error} where that is not possible. */
function change(file: string, make: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): Promise<void> {
  return rewrite(file, () => {
    const text = formatKeys(make(existsSync(file) ? readKeys(file) : []));
    parseKeys(text, selectorProblem); // Throws before the write if the gateway would refuse the text.
    return text;
  });
}

/** @returns ISO 8601; undefined when the text is neither a number of days nor a date. */
export function dateOf(text: string): string | undefined {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(Date.now() + Number(days) * dayMs).toISOString();
  const day = /^(\d{4}-\d{2}-\d{2})(T.*)?$/.exec(text)?.[1];
  if (day === undefined || Number.isNaN(Date.parse(text))) return undefined;
  // Of a day that there is not, such as February 30, the platform makes one of the next month.
  return new Date(day).toISOString().startsWith(day) ? new Date(text).toISOString() : undefined;
}
