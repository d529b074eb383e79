/**
 * The file of API keys: the subject and other properties of each key, and a digest to recognize it by. A key is 256 random bits, so a fast digest is
 * enough: a key cannot be guessed, and a slow digest would let strangers keep the gateway busy.
 */
import { hash, randomBytes } from 'node:crypto';
import { isToken } from '@omnibus/protocol';
import { stringify } from 'yaml';
import { z } from 'zod';
import { isName, noName } from './names.ts';
import { parseSecretYaml } from './secret-yaml.ts';

/** The prefix of every key, by which secret scanners recognize it. */
const prefix = 'omk';
const idBytes = 6;
const secretBytes = 32;
/** Bound on the keys of one file, which are all in memory. */
const maxKeys = 10_000;
const maxNameBytes = 255;
/** Bound on the patterns of one key, each of which is tried for each tool of a list. */
const maxTools = 100;

const date = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'expected a date such as "2027-01-31" or "2027-01-31T12:00:00Z"',
});
const name = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= maxNameBytes, { error: `expected at most ${maxNameBytes} bytes` })
  .refine(isName, { error: `this name ${noName}` });

const record = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9]{1,32}$/, { error: 'expected letters and digits' }),
  /** SHA-256 of the whole key, in hexadecimal digits. */
  hash: z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected the SHA-256 of the key in hexadecimal digits' }),
  subject: name,
  tenant: name.optional(),
  groups: z.array(name).max(64).default([]),
  endpoints: z
    .array(
      z.string().refine((endpoint) => endpoint === '' || isToken(endpoint), {
        error: 'expected the name of an endpoint, or "" for /mcp itself',
      }),
    )
    .optional(),
  tools: z.array(z.string().min(1)).min(1).max(maxTools).optional(),
  created: date.optional(),
  expires: date.optional(),
  revoked: date.optional(),
  note: z.string().max(1_000).optional(),
});

const file = z
  .strictObject({
    keys: z
      .array(record)
      .max(maxKeys)
      .nullish()
      .transform((keys) => keys ?? []),
  })
  .superRefine(({ keys }, context) => {
    const ids = new Set<string>();
    const hashes = new Map<string, string>();
    for (const [index, { id, hash: digest }] of keys.entries()) {
      if (ids.has(id))
        context.addIssue({ code: 'custom', message: `there are two keys ${id}`, path: ['keys', index, 'id'] });
      const other = hashes.get(digest);
      if (other !== undefined)
        context.addIssue({
          code: 'custom',
          message: `it is the hash of the key ${other} too; one key cannot have two records`,
          path: ['keys', index, 'hash'],
        });
      ids.add(id);
      hashes.set(digest, id);
    }
  });

export type KeyRecord = z.output<typeof record>;

/** @returns the problem of a pattern for tools, in words. */
export type ToolProblem = (pattern: string) => string | undefined;

/**
 * @param toolProblem left out if the tools are unknown: a pattern that means nothing permits nothing.
 * @throws {Error} with the problem and its place, without any digest.
 */
export function parseKeys(text: string, toolProblem: ToolProblem = () => undefined): readonly KeyRecord[] {
  const parsed = file.safeParse(parseSecretYaml(text) ?? {});
  if (!parsed.success)
    throw new Error(
      parsed.error.issues
        .map(({ path, message }) => `${path.length === 0 ? 'the file' : path.join('.')}: ${message}`)
        .join('; '),
    );
  const { keys } = parsed.data;
  const problems = keys.flatMap(({ id, tools = [] }) =>
    tools.flatMap((pattern) => {
      const problem = toolProblem(pattern);
      return problem === undefined ? [] : [`key ${id}: tools: ${JSON.stringify(pattern)}: ${problem}`];
    }),
  );
  if (problems.length > 0) throw new Error(problems.join('; '));
  return keys;
}

export function formatKeys(keys: readonly KeyRecord[]): string {
  return `# API keys of Omnibus: digests, not the keys. \`omnibus keys\` writes this file; the gateway follows it.\n${stringify({ keys })}`;
}

/** Whether a text looks like a key, valid or not. */
export function isKey(credential: string): boolean {
  return credential.startsWith(`${prefix}_`);
}

export function newKey(
  settings: Pick<KeyRecord, 'subject' | 'groups' | 'endpoints' | 'expires' | 'note'> &
    Partial<Pick<KeyRecord, 'tenant' | 'tools'>>,
): { readonly key: string; readonly record: KeyRecord } {
  const id = randomBytes(idBytes).toString('hex');
  const key = `${prefix}_${id}_${randomBytes(secretBytes).toString('base64url')}`;
  const given = Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  ) as typeof settings;
  return { key, record: { id, hash: hash('sha256', key, 'hex'), ...given, created: new Date().toISOString() } };
}
