/** What the library's server gets from us beside its settings: metadata, metrics, the log, and bounds of proofs. */
import type { EventEmitter } from 'node:events';
import { isObject } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type * as oidc from 'oidc-provider';
import type Provider from 'oidc-provider';
import { accessTokenKind, exchangeGrant, type Delegations } from './exchange/delegations.ts';
import type { ReplayOptions } from './replay-store.ts';
import { assertionGrant } from './site.ts';
import { TokenProofs } from './token-proofs.ts';

const metadataPaths = new Set(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']);

/** Bounds the proofs of keys at the token endpoint. */
export function proofsAt({ default: provider, errors }: typeof oidc): Pick<ReplayOptions, 'isProof' | 'proves'> {
  const proofs = new TokenProofs(() => provider.ctx);
  return {
    isProof: (id) => proofs.isProof(id),
    proves: () => {
      const wait = proofs.wait();
      if (wait > 0) throw new errors.InvalidRequest(`too many proofs; try again in ${wait} seconds`);
    },
  };
}

/** Gives the library's server our answers beside the protocol: metadata, metrics and the log. */
export function equip(
  provider: Provider,
  {
    metrics,
    log,
    workloads = [],
  }: { readonly metrics: Metrics; readonly log: Logger; readonly workloads?: readonly unknown[] },
  delegations: Delegations | undefined,
): void {
  // The addresses of the server follow from `publicUrl`: the library reads them from headers, which the gateway overwrites in every request.
  provider.proxy = true;
  // The library offers to post answers by a page of its own, with a script that no policy would permit here (`site.ts`).
  provider.use(async (ctx, next) => {
    await next();
    const { body } = ctx.response as { readonly body: unknown };
    if (!isObject(body)) return;
    if (metadataPaths.has(ctx.path))
      Object.assign(body, {
        response_modes_supported: ['query', 'fragment'],
        grant_types_supported: [
          ...(body['grant_types_supported'] as readonly string[]),
          ...(workloads.length === 0 ? [] : [assertionGrant]),
          ...(delegations === undefined ? [] : [exchangeGrant]),
        ],
      });
    // RFC 8693, 2.2.1.
    if ('access_token' in body && delegations?.has(ctx) === true)
      Object.assign(body, { issued_token_type: accessTokenKind });
  });
  provider.on('grant.success', (ctx) => {
    delegations?.ended(ctx);
    metrics.callers.tokensIssued(delegations?.has(ctx) === true ? exchangeGrant : ctx.oidc.params?.['grant_type']);
  });
  provider.on('grant.error', (ctx, { error, error_description: problem }) => {
    delegations?.ended(ctx, problem ?? error);
    if (error !== 'authorization_pending' && error !== 'slow_down') metrics.callers.tokensRefused.inc();
  });
  provider.on('registration_create.success', () => metrics.callers.clientsRegistered.inc());
  const failed = (error: Error): void =>
    log.error({ error: String(error), stack: error.stack }, 'the authorization server failed while serving a request');
  // Errors outside the library's own answers; without a listener the library would print them to stderr.
  (provider as EventEmitter).on('error', (error: Error & { readonly expose?: boolean }) => {
    if (error.expose !== true) failed(error);
  });
  provider.on('server_error', (ctx, error) => {
    delegations?.ended(ctx, 'an error occurred');
    failed(error);
  });
}
