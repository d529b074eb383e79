/** The part of a server's configuration that says on whose behalf it is called. */
import { z } from 'zod';

const trusted = (text: string): boolean => URL.canParse(text) && (new URL(text).protocol === 'https:' || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(text).hostname));
const trustedUrl = z.url({ protocol: /^https?$/ }).refine(trusted, { error: 'expected an https:// address, or one of this machine' });
const scope = z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, { error: 'expected a scope: letters, digits and signs, without spaces' });

const issuer = trustedUrl.max(512).optional().describe('The only issuer that is asked, exactly as its metadata says it. Default: the one that the server names (RFC 9728); with `clientSecret`, `privateKey` or `assertionFile` there is none, since these are for one issuer alone.');
const scopes = z.array(scope).max(50).optional().describe('What is asked for. Default: what the server names.');
const allowedHosts = z.array(z.string().min(1)).max(100).default([])
  .describe('Hosts that issuers may be at although they are, or resolve to, an address of this machine, of its link, or where clouds keep credentials. The host of the server, and that of `issuer`, always may.');
const clientSecret = z.string().optional().describe('Secret: "${CLIENT_SECRET}" takes it from the environment, "${file:/run/secrets/client}" from a file. It is shown in the way that the issuer names (`client_secret_basic` or `client_secret_post`).');

const client = z.strictObject({
  kind: z.literal('client').describe('Everybody\'s calls are made in the name of the gateway, with tokens that it gets as a client of the issuer.'),
  clientId: z.string().min(1).describe('What the gateway is registered as there.'),
  clientSecret,
  privateKey: z.string().optional().describe('A private key that signs who asks (`private_key_jwt`) instead of a secret: PKCS #8, PEM. Secret.'),
  algorithm: z.enum(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']).optional().describe('What `privateKey` signs with. Default: ES256.'),
  assertionFile: z.string().min(1).optional().describe('A file with a token of the platform, such as that of a Kubernetes service account, which is exchanged for one of the issuer (RFC 7523). Read for each request.'),
  issuer, scopes, allowedHosts,
  resource: z.boolean().default(true).describe('Whether tokens are asked for this server alone (RFC 8707). Few issuers do not take that.'),
});

const oauth = z.strictObject({
  kind: z.literal('oauth').describe('Each user signs in for himself, and the server is called in his name. A call that the server refuses is answered with an address where he does.'),
  clientId: z.string().min(1).optional().describe('What the gateway is registered as at the issuer, with the redirect address `publicUrl`/connect/callback. Default: it is known there by `clientMetadataUrl`, or registers itself.'),
  clientSecret,
  clientMetadataUrl: z.url({ protocol: /^https$/, error: 'expected an https:// address' }).optional().describe('Where a document describes the gateway, for issuers that take its address as the name of a client. Default: `publicUrl`/connect/client.json, where `publicUrl` is https://.'),
  issuer, scopes, allowedHosts,
});

export const credentialsSchema = z.discriminatedUnion('kind', [client, oauth]);

export const vaultSchema = z.strictObject({
  keys: z.array(z.string()).max(20).default([]).describe('Keys that seal what is kept, NAME:BASE64 of 32 random bytes (`openssl rand -base64 32`): "2026a:${VAULT_KEY}". The first seals, all of them open. Without, a gateway of one process makes one beside its file; several processes need one, the same for all backend workers. Secret.'),
  file: z.string().min(1).optional().describe('Where a gateway of one process keeps it. Default: vault.json in the folder of your settings. Several processes keep it on the bus.'),
});
