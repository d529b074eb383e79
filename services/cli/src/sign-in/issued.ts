/** Tokens of an issuer: their storage, renewal and revocation. */
import type { Configuration, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client';
import type { CommandProblem } from '@omnibus/client';
import { discovered, inWords, SignInProblem } from './issuer.ts';
import type { Kept } from './kept-tokens.ts';

/** Refreshes tokens. @param resource address of the gateway. @throws {SignInProblem} when the user must sign in again. */
export async function refresh(kept: Kept, resource: string): Promise<Kept> {
  if (kept.refreshToken === undefined) throw endedSignIn(resource);
  const client = await import('openid-client');
  return inWords(async () => {
    const configuration = await discovered(kept.issuer, kept.clientId, kept.clientSecret);
    try {
      return keptOf(await client.refreshTokenGrant(configuration, kept.refreshToken as string, { resource }), kept);
    } catch (error) {
      if (
        error instanceof client.ResponseBodyError &&
        (error.error === 'invalid_grant' || error.error === 'invalid_client')
      )
        throw endedSignIn(resource);
      throw error;
    }
  });
}

/** The message for a user with an ended sign-in. */
export function endedSignIn(resource: string): CommandProblem {
  return new SignInProblem(`the sign-in has ended; sign in again: omnibus login ${resource}`, 'forbidden');
}

/** Tells the issuer that tokens are not used any more (RFC 7009). @returns whether it knows. */
export async function revoke(kept: Kept): Promise<boolean> {
  const client = await import('openid-client');
  try {
    const configuration = await discovered(kept.issuer, kept.clientId, kept.clientSecret);
    if (configuration.serverMetadata().revocation_endpoint === undefined) return false;
    await client.tokenRevocation(configuration, kept.refreshToken ?? kept.accessToken);
    return true;
  } catch {
    return false; // The tokens are removed from this machine in any case, and the user gets a message.
  }
}

/** The client of the tokens. */
export function keptClient(
  configuration: Configuration,
  issuer: string,
): Pick<Kept, 'issuer' | 'clientId' | 'clientSecret'> {
  const { client_id: clientId, client_secret: clientSecret } = configuration.clientMetadata();
  return { issuer, clientId, ...(clientSecret === undefined ? {} : { clientSecret }) };
}

/** @param before what stays as it is where the issuer does not say it again. */
export function keptOf(
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers,
  before: Pick<Kept, 'issuer' | 'clientId' | 'clientSecret'> & Partial<Kept>,
): Kept {
  const seconds = tokens.expiresIn();
  const refreshToken = tokens.refresh_token ?? before.refreshToken;
  // An answer without a scope is about the one that was there (RFC 6749, 5.1 and 6).
  const scope = tokens.scope ?? before.scope;
  const { issuer, clientId, clientSecret } = before;
  return {
    issuer,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    accessToken: tokens.access_token,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(seconds === undefined ? {} : { expiresAt: Date.now() + seconds * 1_000 }),
    ...(scope === undefined ? {} : { scope }),
  };
}
