/** The file of agents: programs that get tokens for themselves. It contains digests of secrets and public keys, and no secret. */
import { createPublicKey, hash, randomBytes, type JsonWebKey } from 'node:crypto';
import { isName, noName, parseSecretYaml } from '@omnibus/identity';
import { isToken } from '@omnibus/protocol';
import { stringify } from 'yaml';
import { z } from 'zod';

const maxAgents = 10_000;
const maxKeys = 8;
const maxSecrets = 4;
const secretBytes = 32;
const idBytes = 12;
/** The beginning of secrets, by which secret scanners find them. */
const prefix = 'oma_secret_';

const name = z
  .string()
  .min(1)
  .max(255)
  .refine(isName, { error: `this name ${noName}` });
const date = z.string().refine((text) => !Number.isNaN(Date.parse(text)), { error: 'expected a date' });
const scope = z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]{1,255}$/, { error: 'expected a scope, without spaces' });

/** The members of public keys that are kept (RFC 7518, 6); all others are dropped. */
const publicMembers = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid'] as const;
const minRsaBits = 2_048;
const curves = new Set(['P-256', 'P-384', 'Ed25519']);

const record = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, {
      error: 'expected up to 63 small letters, digits and ._-, the first a letter or a digit',
    }),
    /** Tells an agent from a later one of the same name. */
    id: z.string().regex(/^[\w-]{8,64}$/, { error: 'expected the id that `omnibus agents add` writes' }),
    owner: name,
    tenant: name.optional(),
    groups: z.array(name).max(64).default([]),
    scopes: z.array(scope).max(50).default([]),
    endpoints: z
      .array(
        z.string().refine((endpoint) => endpoint === '' || isToken(endpoint), {
          error: 'expected the name of an endpoint, or "" for /mcp itself',
        }),
      )
      .min(1)
      .max(200)
      .optional(),
    secrets: z
      .array(
        z.strictObject({
          hash: z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected the SHA-256 of the secret' }),
          created: date,
          until: date.optional(),
        }),
      )
      .max(maxSecrets)
      .default([]),
    keys: z
      .array(
        z.looseObject({ kty: z.string(), until: date.optional() }).refine((key) => keyProblem(key) === undefined, {
          error: ({ input }) => keyProblem(input as JsonWebKey) ?? 'expected a public key as JWK',
        }),
      )
      .max(maxKeys)
      .default([]),
    /** It gets tokens for the assertions of a workload (`auth.server.workloads`), and has neither secret nor key. */
    isWorkload: z.literal(true).optional(),
    created: date,
    expires: date.optional(),
    note: z.string().max(1_000).optional(),
    /** Rises when open tokens must end. */
    round: z.int().nonnegative().default(0),
  })
  .refine(
    ({ secrets, keys, isWorkload }) =>
      [secrets.length > 0, keys.length > 0, isWorkload === true].filter(Boolean).length === 1,
    { error: 'expected secrets, keys or `isWorkload: true`, and one of these alone' },
  );

const file = z
  .strictObject({
    agents: z
      .array(record)
      .max(maxAgents)
      .nullish()
      .transform((agents) => agents ?? []),
  })
  .refine(({ agents }) => new Set(agents.map(({ name: each }) => each)).size === agents.length, {
    error: 'the same agent is listed twice',
  });

export type AgentRecord = z.output<typeof record>;

/** @throws {Error} with the problem and its place, without any digest. */
export function parseAgents(text: string): readonly AgentRecord[] {
  const parsed = file.safeParse(parseSecretYaml(text) ?? {});
  if (parsed.success) return parsed.data.agents;
  throw new Error(
    parsed.error.issues
      .map(({ path, message }) => `${path.length === 0 ? 'the file' : path.join('.')}: ${message}`)
      .join('; '),
  );
}

export function formatAgents(agents: readonly AgentRecord[]): string {
  return `# Agents of Omnibus: digests of secrets and public keys. \`omnibus agents\` writes this file; the gateway follows it.\n${stringify({ agents }, { aliasDuplicateObjects: false })}`;
}

/** The public part of a key, with the members that are kept. @throws {Error} in words if it cannot be used. */
export function publicKeyOf(key: JsonWebKey): JsonWebKey & { readonly kty: string } {
  const problem = keyProblem(key);
  if (problem !== undefined) throw new Error(problem);
  return Object.fromEntries(
    publicMembers.flatMap((member) => (typeof key[member] === 'string' ? [[member, key[member]] as const] : [])),
  ) as JsonWebKey & { readonly kty: string };
}

/** The problem of a JWK as the public key of an agent, for the operator. */
function keyProblem(key: JsonWebKey): string | undefined {
  if (key.d !== undefined || key.k !== undefined)
    return 'this is a private key or a shared secret; give the public key, and keep the private key with the agent';
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey({ key, format: 'jwk' });
    if (type === 'rsa')
      return (details?.modulusLength ?? 0) < minRsaBits ? `an RSA key has at least ${minRsaBits} bits` : undefined;
    return curves.has(key.crv ?? '') ? undefined : `expected an RSA key or one of ${[...curves].join(', ')}`;
  } catch {
    return 'expected a public key as JWK';
  }
}

/** A secret and its record. The secret is stored nowhere. */
export function newSecret(): { readonly secret: string; readonly record: AgentRecord['secrets'][number] } {
  const secret = `${prefix}${randomBytes(secretBytes).toString('base64url')}`;
  return { secret, record: { hash: digestOfSecret(secret), created: new Date().toISOString() } };
}

export function digestOfSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

export function newAgentId(): string {
  return randomBytes(idBytes).toString('base64url');
}
