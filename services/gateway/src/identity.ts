/** How callers are known, as the configuration says. */
import { resolve } from 'node:path';
import type { Config } from '@omnibus/config';
import { Authenticator, ownTokenNames, type OwnServer } from '@omnibus/identity';
import type { Logger } from '@omnibus/telemetry';

interface IdentityOptions {
  readonly config: Config;
  /** The folder relative paths of the configuration start from. */
  readonly baseFolder: string;
  readonly log: Logger;
  /** Our own authorization server; undefined where there is none. */
  readonly own: OwnServer | undefined;
}

/**
 * @returns undefined where callers need not be known.
 * @throws {Error} in words for the operator when a way cannot be used.
 */
export async function openAuthenticator({ config: { auth, publicUrl }, baseFolder, log, own }: IdentityOptions): Promise<Authenticator | undefined> {
  if (auth === undefined || auth === 'none') return undefined;
  return Authenticator.open({
    issuers: auth.issuers,
    resource: publicUrl === undefined && auth.audience.length === 0 ? undefined : { publicUrl, audience: auth.audience, scopes: auth.scopes },
    proxy: auth.proxy,
    own,
    certificates: auth.clientCertificates,
    kubernetes: auth.kubernetes === undefined ? undefined : { ...auth.kubernetes, caFile: resolve(baseFolder, auth.kubernetes.caFile), tokenFile: resolve(baseFolder, auth.kubernetes.tokenFile) },
    keysFile: auth.keys === undefined ? undefined : resolve(baseFolder, auth.keys.file),
    warn: (details, text) => log.warn(details, text),
  });
}

/**
 * The same for a process without an edge, where whoever administers it is to be known: tokens of our own authorization server are those of any
 * other issuer there, and what is taken back is known when they end.
 * @throws {Error} in words for the operator when a way cannot be used.
 */
export async function openAdminAuthenticator(options: IdentityOptions): Promise<Authenticator | undefined> {
  const { config } = options;
  const { auth, publicUrl } = config;
  if (auth === undefined || auth === 'none' || auth.server === undefined || publicUrl === undefined) return openAuthenticator(options);
  const own = { issuer: publicUrl, jwksUri: `${publicUrl}/.well-known/jwks.json`, algorithms: ['ES256' as const], require: {}, ...ownTokenNames };
  return openAuthenticator({ ...options, config: { ...config, auth: { ...auth, issuers: [own, ...auth.issuers] } } });
}
