/** The part of the configuration that says how callers are known. */
import { z } from 'zod';

/** Those that need a private key to sign: with a shared secret, whoever can check a token could make one. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: 'expected an IP address or a network such as "10.0.0.0/8"' });
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'expected the name of a header' }).transform((name) => name.toLowerCase());
const claim = (fallback: string) => z.string().min(1).default(fallback);
const scope = z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, { error: 'expected a scope: letters, digits and signs, without spaces' });
const trusted = (text: string): boolean => URL.canParse(text) && (new URL(text).protocol === 'https:' || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(text).hostname));
const trustedUrl = z.url({ protocol: /^https?$/ }).refine(trusted, { error: 'expected an https:// address, or one of this machine' });

const issuer = z.strictObject({
  issuer: trustedUrl.max(512).describe('The issuer exactly as its tokens say it, such as "https://login.example.com". Its keys are found by its metadata.'),
  jwksUri: trustedUrl.optional().describe('Where its keys are, for an issuer without metadata.'),
  algorithms: z.array(z.enum(algorithms)).min(1).default(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']).describe('Signatures that are taken. There is none that needs a shared secret.'),
  tokenType: z.enum(['auto', 'at+jwt']).default('auto').describe('at+jwt: only tokens whose header says that they are access tokens (RFC 9068). auto: also those that do not say what they are, unless they look like ID tokens.'),
  subject: claim('sub').describe('The claim that names the caller for ever. Entra ID: `oid`. Never an e-mail address, which changes hands.'),
  groups: claim('groups').describe('The claim that names its groups.'),
  tenant: z.string().min(1).optional().describe('The claim that names its tenant; a token without it is refused then.'),
  introspection: z.strictObject({
    url: trustedUrl.describe('Where opaque tokens are asked about.'),
    clientId: z.string().min(1).describe('Who asks.'),
    clientSecret: z.string().min(1).describe('Secret.'),
  }).optional().describe('For tokens that are no JWT (RFC 7662). Their answers are kept for a minute.'),
});

const proxy = z.strictObject({
  addresses: z.array(network).min(1).describe('Addresses and networks the proxy connects from. From anywhere else its headers mean nothing.'),
  userHeader: headerName.default('x-forwarded-user').describe('The header that names the user. The proxy has to take it away from what clients send.'),
  groupsHeader: headerName.optional().describe('The header that names groups, separated by commas.'),
});

const ways = z.strictObject({
  keys: z.strictObject({
    file: z.string().min(1).describe('File of the API keys that `omnibus keys` makes, lists and revokes; it holds digests only and is followed.'),
  }).optional().describe('API keys: `Authorization: Bearer omk_…`.'),
  issuers: z.array(issuer).max(100).default([]).describe('Authorization servers whose tokens are taken. Needs `publicUrl`.'),
  audience: z.array(z.string().min(1)).default([]).describe('What tokens must be for, on any endpoint. Default: `publicUrl` followed by /mcp. A token for the address of one endpoint is always good there.'),
  scopes: z.array(scope).max(50).default([]).describe('Scopes that every token must have; clients are told of them.'),
  proxy: proxy.optional().describe('A proxy in front that signs users in and says who they are.'),
}).refine(({ keys, issuers, proxy: front }) => keys !== undefined || issuers.length > 0 || front !== undefined, { error: 'expected a way to be known, such as `keys: { file: keys.yaml }`, or "none"' })
  .refine(({ issuers }) => new Set(issuers.map((each) => each.issuer)).size === issuers.length, { error: 'an issuer stands here twice', path: ['issuers'] })
  .refine(({ issuers }) => issuers.filter(({ introspection }) => introspection !== undefined).length <= 1, { error: 'an opaque token does not say whose it is, so only one issuer can have introspection', path: ['issuers'] });

export const authSchema = z.union([z.literal('none'), ways]);
