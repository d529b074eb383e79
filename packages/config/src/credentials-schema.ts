/** The part of a server's configuration about the identity of its calls. */
import { z } from 'zod';
import { isTrusted } from './loopback.ts';
import { nonEmpty, onByDefault, optionalText, scope } from './plain-options.ts';

const noIssuer = 'expected an https:// address, or one of this machine, without query or fragment';
const trustedUrl = z
  .url({ protocol: /^https?$/, error: noIssuer, abort: true })
  .regex(/^[^\s?#]+$/, { error: noIssuer, abort: true })
  .refine(isTrusted, { error: noIssuer, abort: true })
  .refine((text) => !text.includes('/.well-known/'), {
    error: 'expected the issuer itself, as its metadata name it (`issuer`), and not the address of its metadata',
  });

const issuer = trustedUrl
  .max(512)
  .optional()
  .describe(
    'The only issuer that the gateway uses, exactly as in its metadata. Default: the one that the server names (RFC 9728); with `clientSecret`, `privateKey` or `assertionFile` there is none, since these are for one issuer alone.',
  );
const scopes = z
  .array(scope)
  .max(50)
  .optional()
  .describe('Scopes that the gateway requests from the issuer. Default: the scopes that the server names.');
const allowedHosts = z
  .array(
    z.string().regex(/^(?:[^\s/:@?#]+|\[[0-9A-Fa-f:.]+\])$/, {
      error: 'expected a host, such as "login.example.com" or "[::1]", without scheme, port and path',
    }),
  )
  .max(100)
  .default([])
  .describe(
    'An issuer that the server names is refused when its host is, or resolves to, an address of this machine, a link-local address, one where clouds serve credentials, or one of a private network that neither the address of the server nor `issuer` names. Hosts named here are allowed all the same, as are the host of the server and that of `issuer`.',
  );
const clientSecret = z
  .string()
  .optional()
  .describe(
    'Secret: "${CLIENT_SECRET}" takes it from the environment, "${file:/run/secrets/client}" from a file. `clientAuthentication` sets how the gateway sends it.',
  );

const resource = onByDefault.describe(
  'Whether the gateway asks for tokens that are good at this server only (`resource`, RFC 8707), which MCP demands of clients. false: for issuers that refuse the parameter.',
);

const privateKey = z
  .string()
  .optional()
  .describe(
    'A private key that authenticates the gateway (`private_key_jwt`), instead of `clientSecret`: PKCS #8, PEM. Secret.',
  );
const algorithm = z
  .enum(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])
  .optional()
  .describe('Signature algorithm of `privateKey`. Default: ES256.');

const clientAuthentication = z
  .enum(['client_secret_basic', 'client_secret_post'])
  .optional()
  .describe(
    'How the gateway sends `clientSecret`: in the header `Authorization`, or in the body of requests, as registered at the issuer. Default: the method that the issuer supports; client_secret_basic if it supports both.',
  );

/** How the gateway proves to an issuer that it is this client. */
const proofOfClient = { clientSecret, clientAuthentication, privateKey, algorithm };
/** For which servers, and with which rights, an issuer is asked for tokens. */
const ofTokens = { scopes, allowedHosts, resource };

const client = z.strictObject({
  kind: z
    .literal('client')
    .describe("All calls use the gateway's identity, with tokens that it gets as a client of the issuer."),
  clientId: nonEmpty.describe('Client id under which the gateway is registered at the issuer.'),
  ...proofOfClient,
  assertionFile: optionalText.describe(
    'A file with a token of the platform, such as that of a Kubernetes service account, which is exchanged for one of the issuer (RFC 7523). Read for each request.',
  ),
  issuer,
  ...ofTokens,
});

const oauth = z.strictObject({
  kind: z
    .literal('oauth')
    .describe(
      "Each user signs in at the server's issuer, and the server is called in that user's name. A call that needs a sign-in first is answered with the address to open.",
    ),
  clientId: optionalText.describe(
    'Client id under which the gateway is registered at the issuer, with the redirect address `publicUrl`/connect/callback. Default: the gateway uses `clientMetadataUrl` where the issuer takes that, or registers itself.',
  ),
  ...proofOfClient,
  clientMetadataUrl: z
    .url({ protocol: /^https$/, error: 'expected an https:// address' })
    .optional()
    .describe(
      'Address of a document that describes the gateway, for issuers that take such an address as a client id. Default: `publicUrl`/connect/client.json, if `publicUrl` is https://.',
    ),
  beforeSignIn: z
    .enum(['fail', 'wait'])
    .default('fail')
    .describe(
      'How a call proceeds whose user must sign in first. fail: the call ends at once with the address, and the client retries it. wait: the call continues after the sign-in, within its time limits and nine and a half minutes. It ends at once if no way to show the address exists: no question to the client, no progress, no browser of this machine.',
    ),
  issuer,
  ...ofTokens,
});

const exchange = z.strictObject({
  kind: z
    .literal('exchange')
    .describe(
      "Each caller's token is exchanged for one that is good at the server (RFC 8693), which is then called in the caller's name. The caller's own token goes to `issuer` and nowhere else.",
    ),
  issuer: trustedUrl
    .max(512)
    .describe(
      'The issuer that exchanges tokens, exactly as in its metadata. The gateway uses no other one, whatever the server names.',
    ),
  clientId: nonEmpty.describe(
    'Client id under which the gateway is registered at the issuer, with the permission to exchange tokens.',
  ),
  ...proofOfClient,
  from: z
    .array(nonEmpty.max(512))
    .min(1)
    .max(20)
    .optional()
    .describe(
      'The issuers whose tokens the gateway sends to `issuer`, exactly as these tokens name them. Default: `issuer` itself.',
    ),
  audience: nonEmpty
    .max(512)
    .optional()
    .describe(
      'The name by which the issuer knows the server (`audience`, RFC 8693), for issuers that do not go by `resource`.',
    ),
  ...ofTokens,
});

const enterprise = z.strictObject({
  kind: z
    .literal('enterprise')
    .describe(
      "Calls use the identity of each user signed in at the gateway. The identity provider of that sign-in issues an assertion about the user, and the server's issuer exchanges it for a token (enterprise-managed authorization, ID-JAG).",
    ),
  clientId: nonEmpty.describe('Client id under which the gateway is registered at the issuer of the server.'),
  ...proofOfClient,
  identityProvider: z
    .strictObject({
      issuer: trustedUrl.max(512).describe('The identity provider, exactly as its metadata says it.'),
      clientId: nonEmpty.describe('Client id of the gateway at the identity provider: the audience of its ID tokens.'),
      ...proofOfClient,
      idTokenFile: optionalText.describe(
        'A file with the ID token of the one user of this machine, as a command of the identity provider writes it. Read for each request. Only for a gateway that other users cannot reach.',
      ),
    })
    .optional()
    .describe(
      'The identity provider at which users sign in. Default: that of `auth.server.signIn`, with the client that is registered there.',
    ),
  issuer,
  ...ofTokens,
});

const aws = z.strictObject({
  kind: z
    .literal('aws')
    .describe(
      "All calls use the gateway's identity: the gateway signs requests for a service of Amazon Web Services (Signature Version 4), with the credentials that the AWS SDK finds on this machine.",
    ),
  service: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
      error:
        'expected the name of a service as signatures have it, such as "bedrock-agentcore", "execute-api" or "lambda"',
    })
    .describe(
      'The service that the server is of, by its name in signatures: "bedrock-agentcore", "execute-api" (API Gateway), "lambda" (function URLs), "vpc-lattice-svcs".',
    ),
  region: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: 'expected a region, such as "eu-central-1"' })
    .describe('The region that the server is in, such as "eu-central-1".'),
  profile: nonEmpty
    .max(200)
    .optional()
    .describe(
      'Profile of the shared AWS configuration files with the credentials. Default: the first that the AWS SDK finds: environment variables, the profile "default", the web identity of a pod, the role of a container or machine.',
    ),
});

export const credentialsSchema = z.discriminatedUnion('kind', [client, oauth, exchange, enterprise, aws]);

const vaultKey = z.string().regex(/^\s*[\w.-]{1,40}:[A-Za-z0-9+/_-]{43,}={0,2}\s*$/, {
  error: 'expected NAME:BASE64 of 32 random bytes (openssl rand -base64 32)',
});

const nameOfKey = (key: string): string => key.trim().split(':', 1)[0] as string;

export const vaultSchema = z.strictObject({
  keys: z
    .array(vaultKey)
    .max(20)
    .refine((keys) => new Set(keys.map(nameOfKey)).size === keys.length, { error: 'two keys have the same name' })
    .default([])
    .describe(
      'Keys that encrypt the vault, each NAME:BASE64 of 32 random bytes (`openssl rand -base64 32`): "2026a:${VAULT_KEY}". All of them decrypt, and one encrypts: a new one is put first, and `omnibus vault rotate` changes to it. A running gateway takes changed keys. Default: a gateway of one process makes a key and keeps it beside the file of the vault; several processes need one, the same for all backend workers. Secret.',
    ),
  keychain: onByDefault.describe(
    'Whether a gateway that only the user of this machine can reach keeps the key that it makes itself in the keychain of that user (docs/how-to/credentials.md). false, and where there is no keychain: in a file beside the vault.',
  ),
  file: optionalText.describe(
    'File in which a gateway of one process keeps the vault. Default: vault.json in the folder of your settings. Several processes keep the vault on the bus.',
  ),
});
