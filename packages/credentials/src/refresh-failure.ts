/** The effect of a failed refresh on a user's tokens: only the issuer's own statement about them, or about the gateway's registration, ends them. */
import type { AuthorizationServer } from 'oauth4webapi';
import { issuerMetadata } from './discovery.ts';
import { CredentialProblem, type Fetch } from './outbound.ts';
import { forgetRegistration } from './registration.ts';
import { isOfClient, notAccepted, TokenRefused, type ClientIdentity } from './token-request.ts';
import type { Vault } from './vault/vault.ts';

interface Attempt {
  readonly vault: Vault;
  readonly issuer: string;
  readonly client: ClientIdentity;
  /** Whether the configuration names the client. */
  readonly isConfigured: boolean;
  /** Finds out whether the server trusts another issuer by now. */
  readonly hasMoved: () => Promise<boolean>;
}

interface Failure {
  readonly problem: CredentialProblem;
  /** Whether the user must sign in again. */
  readonly isOver: boolean;
}

/** Never rejects for a reason of its own. */
export async function failureOf(
  error: unknown,
  { vault, issuer, client, isConfigured, hasMoved }: Attempt,
): Promise<Failure> {
  const problem =
    error instanceof CredentialProblem
      ? error
      : new CredentialProblem('a token could not be refreshed', { cause: error });
  // The issuer does not answer, and may never answer again if the server has another by now.
  if (!(error instanceof TokenRefused)) return { problem, isOver: await hasMoved() };
  if (!isOfClient(error)) return { problem, isOver: true };
  // A client that another has registered is refused until the configuration is mended, or its document can be read; the tokens are good afterwards.
  if (isConfigured || URL.canParse(client.clientId)) {
    return { problem: notAccepted(error, client), isOver: false };
  }
  await forgetRegistration(vault, issuer, client);
  return { problem, isOver: true };
}

/** The metadata of an issuer, if they name another token endpoint than those that are known. @returns undefined if they do not, or cannot be read. */
export async function movedEndpoint(
  fetch: Fetch,
  { issuer, token_endpoint: before }: AuthorizationServer,
): Promise<AuthorizationServer | undefined> {
  const now = await issuerMetadata(fetch, issuer).catch(() => undefined);
  return now?.token_endpoint === undefined || now.token_endpoint === before ? undefined : now;
}
