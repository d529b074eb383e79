/**
 * The file of API keys: the subject and other properties of each key, and a digest to recognize it by. A key is 256 random bits, so a fast digest is
 * enough: a key cannot be guessed, and a slow digest would let strangers keep the gateway busy.
 */
import { hash, randomBytes } from 'node:crypto';
import { isToken } from '@omnibus/protocol';
import { parse, stringify } from 'yaml';
import { z } from 'zod';

/** The prefix of every key, by which secret scanners recognize it. */
const prefix = 'omk';
const keyPattern = /^omk_([A-Za-z0-9]{1,32})_[A-Za-z0-9_-]{43}$/;
const idBytes = 6;
const secretBytes = 32;
/** Bound on the keys of one file, which are all in memory. */
const maxKeys = 10_000;
const maxNameBytes = 255;

const date = z.union([z.iso.datetime({ offset: true }), z.iso.date()], { error: 'expected a date such as "2027-01-31" or "2027-01-31T12:00:00Z"' });
const name = z.string().min(1).refine((text) => Buffer.byteLength(text) <= maxNameBytes, { error: `expected at most ${maxNameBytes} bytes` });

const record = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9]{1,32}$/, { error: 'expected letters and digits' }),
  /** SHA-256 of the whole key, in hexadecimal digits. */
  hash: z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected the SHA-256 of the key in hexadecimal digits' }),
  subject: name,
  tenant: name.optional(),
  groups: z.array(name).max(64).default([]),
  endpoints: z.array(z.string().refine((endpoint) => endpoint === '' || isToken(endpoint), { error: 'expected the name of an endpoint, or "" for /mcp itself' })).optional(),
  created: date.optional(),
  expires: date.optional(),
  revoked: date.optional(),
  note: z.string().max(1_000).optional(),
});

const file = z.strictObject({ keys: z.array(record).max(maxKeys).default([]) }).superRefine(({ keys }, context) => {
  const ids = new Set<string>();
  for (const [index, { id }] of keys.entries()) {
    if (ids.has(id)) context.addIssue({ code: 'custom', message: `there are two keys ${id}`, path: ['keys', index, 'id'] });
    ids.add(id);
  }
});

export type KeyRecord = z.output<typeof record>;

/** @throws {Error} that says what is wrong and where, without any digest. */
export function parseKeys(text: string): readonly KeyRecord[] {
  const parsed = file.safeParse(parse(text) ?? {});
  if (parsed.success) return parsed.data.keys;
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}

export function formatKeys(keys: readonly KeyRecord[]): string {
  return `# API keys of Omnibus: digests, not the keys. \`omnibus keys\` writes this file; the gateway follows it.\n${stringify({ keys })}`;
}

/** The id in a text that looks like a key; undefined for any other text. */
export function keyIdOf(credential: string): string | undefined {
  return keyPattern.exec(credential)?.[1];
}

/** Whether a text looks like a key, valid or not. */
export function isKey(credential: string): boolean {
  return credential.startsWith(`${prefix}_`);
}

/** Makes a key and its record. */
export function newKey(settings: Pick<KeyRecord, 'subject' | 'groups' | 'endpoints' | 'expires' | 'note'> & Partial<Pick<KeyRecord, 'tenant'>>): { readonly key: string; readonly record: KeyRecord } {
  const id = randomBytes(idBytes).toString('hex');
  const key = `${prefix}_${id}_${randomBytes(secretBytes).toString('base64url')}`;
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as typeof settings;
  return { key, record: { id, hash: hash('sha256', key, 'hex'), ...given, created: new Date().toISOString() } };
}
