/** How callers are known, as the configuration says. */
import { resolve } from 'node:path';
import type { Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { Authenticator, type OwnServer } from '@omnibus/identity';
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
 * The same for a process without an edge, where whoever administers it is to be known. The keys of our own authorization server are asked for there
 * as those of any other issuer; what is taken back stands in a bucket that is followed.
 * @returns what it opened besides, to be closed with it.
 * @throws {Error} in words for the operator when a way cannot be used.
 */
export async function openAdminAuthenticator({ bus, ...options }: Omit<IdentityOptions, 'own'> & { readonly bus: Bus }): Promise<{ readonly authenticator: Authenticator | undefined; readonly close: () => void }> {
  const { auth, publicUrl } = options.config;
  if (auth === undefined || auth === 'none' || auth.server === undefined || publicUrl === undefined) return { authenticator: await openAuthenticator({ ...options, own: undefined }), close: () => undefined };
  const { openRevocations } = await import('@omnibus/authorization');
  const revocations = await openRevocations(bus, auth.server.accessTokenLife);
  const own = { issuer: publicUrl, isRevoked: (grant: string) => revocations.has(grant), onChanged: (listener: () => void) => revocations.onRevoked(listener) };
  return { authenticator: await openAuthenticator({ ...options, own }), close: () => revocations.close() };
}
