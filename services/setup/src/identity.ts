/** Opens the authentication of callers as configured in `auth`. */
import { hkdfSync, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { authorizationBuckets, isConflict, type Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import {
  Authenticator,
  DirectoryGroups,
  type Facts,
  type OwnServer,
  type PossessionOptions,
  type SealingKeys,
  type StoredDirectory,
} from '@omnibus/identity';
import { TokenBuckets } from '@omnibus/lifecycle';
import { selectorProblem } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

interface IdentityOptions {
  readonly config: Config;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  readonly log: Logger;
  /** The gateway's own authorization server; undefined where there is none. */
  readonly own: OwnServer | undefined;
  /** How holders of bound tokens prove their keys; left out where these are not accepted. */
  readonly possession?: Pick<PossessionOptions, 'secret' | 'isFirst'> | undefined;
  /** What is stored of the directories of providers (`auth.scim`); left out where there are none. */
  readonly directory?: StoredDirectory | undefined;
  /** Keeps the tokens of callers for servers that are called with tokens made from them. */
  readonly held?: ((facts: Facts, token: string) => Facts) | undefined;
}

/**
 * @returns undefined where callers are not authenticated.
 * @throws {Error} in words for the operator when a configured way of authentication cannot be used.
 */
export async function openAuthenticator({
  config: { auth, publicUrl },
  baseFolder,
  log,
  own,
  held,
  possession,
  directory,
}: IdentityOptions): Promise<Authenticator | undefined> {
  if (auth === undefined || auth === 'none') return undefined;
  return Authenticator.open({
    issuers: auth.issuers,
    resource:
      publicUrl === undefined && auth.audience.length === 0
        ? undefined
        : { publicUrl, audience: auth.audience, scopes: auth.scopes },
    proxy: auth.proxy,
    own,
    held,
    possession: possession === undefined ? undefined : { ...possession, publicUrl, needsNonce: auth.dpop.nonce },
    needsBinding: auth.dpop.required,
    directories: directory === undefined ? undefined : new DirectoryGroups(auth.scim, publicUrl, directory),
    certificates: auth.clientCertificates,
    kubernetes:
      auth.kubernetes === undefined
        ? undefined
        : {
            ...auth.kubernetes,
            caFile: resolve(baseFolder, auth.kubernetes.caFile),
            tokenFile: resolve(baseFolder, auth.kubernetes.tokenFile),
          },
    toolProblem: selectorProblem,
    keysFile: auth.keys === undefined ? undefined : resolve(baseFolder, auth.keys.file),
    warn: (details, text) => log.warn(details, text),
  });
}

/**
 * Proofs of one caller at once, and then one each five milliseconds. Each is remembered at all edges for six minutes, in about 150 bytes: at most 11 MB of
 * one caller at one edge.
 */
const proofPace = { burst: 1_000, everyMs: 5, maxNames: 10_000 };

/** Characters of a proof's digest in its key: 132 bits. */
const digestCharacters = 22;

/**
 * Remembers proofs of keys at all edges of a bus.
 * @param sealingKeys undefined for a gateway of one process without any.
 */
export function possessionOver(
  bus: Bus,
  sealingKeys: SealingKeys | undefined,
): Pick<PossessionOptions, 'secret' | 'isFirst'> {
  const secret = sealingKeys?.[0] ?? randomBytes(32);
  const pace = new TokenBuckets(proofPace);
  let opening: ReturnType<typeof bus.keyValue<string>> | undefined;
  return {
    secret: Buffer.from(hkdfSync('sha256', secret, '', 'omnibus proof nonces', 32)),
    async isFirst(caller, id) {
      if (pace.take(caller) > 0) throw new Error('too many requests of one caller at once');
      try {
        opening ??= bus.keyValue<string>(authorizationBuckets.proofs);
        await (await opening).create(id.slice(0, digestCharacters), '1');
        return true;
      } catch (error) {
        if (isConflict(error)) return false;
        opening = undefined;
        throw error;
      }
    },
  };
}

/**
 * Opens the authentication of the admin port in a process without an edge. It fetches the keys of the gateway's own authorization server as those of
 * any other issuer, and learns of revoked tokens from a bucket that it watches.
 * @returns the authenticator, and `close` for the watch that was opened with it.
 * @throws {Error} in words for the operator when a configured way of authentication cannot be used.
 */
export async function openAdminAuthenticator({
  bus,
  ...options
}: Omit<IdentityOptions, 'own'> & { readonly bus: Bus }): Promise<{
  readonly authenticator: Authenticator | undefined;
  readonly close: () => void;
}> {
  const { auth, publicUrl } = options.config;
  if (auth === undefined || auth === 'none' || auth.server === undefined || publicUrl === undefined)
    return { authenticator: await openAuthenticator({ ...options, own: undefined }), close: () => undefined };
  const { openRevocations } = await import('@omnibus/authorization');
  const revocations = await openRevocations(bus, auth.server.accessTokenLife);
  const own = {
    issuer: publicUrl,
    isRevoked: (grant: string) => revocations.has(grant),
    onChanged: (listener: () => void) => revocations.onRevoked(listener),
  };
  return { authenticator: await openAuthenticator({ ...options, own }), close: () => revocations.close() };
}
