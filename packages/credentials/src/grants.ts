/**
 * Requests to an issuer for tokens in the name of a user authenticated elsewhere: by the exchange of the user's token (RFC
 * 8693), or by an identity assertion that the enterprise's identity provider makes for the server's issuer (the MCP extension
 * `io.modelcontextprotocol/enterprise-managed-authorization`, with an Identity Assertion JWT Authorization Grant).
 */
import type { AuthorizationServer } from 'oauth4webapi';
import { issuerMetadata } from './discovery.ts';
import { CredentialProblem, type Fetch } from './outbound.ts';
import type { Prover } from './proof-of-possession.ts';
import { requestTokens, type ClientIdentity, type Tokens } from './token-request.ts';

/** What tokens are to be good for. */
interface Wanted {
  readonly fetch: Fetch;
  /** The metadata of the issuer that the server trusts. */
  readonly server: AuthorizationServer;
  /** The server (RFC 8707); undefined where tokens are not to name it. */
  readonly resource: string | undefined;
  /** Separated by blanks. */
  readonly scope: string | undefined;
  readonly prover: Prover | undefined;
}

/** One way to obtain tokens. @throws {CredentialProblem} that names the step and the issuer, and its error code. */
export type Grant = (wanted: Wanted) => Promise<Tokens>;

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const tokenType = 'urn:ietf:params:oauth:token-type:';

/**
 * Exchanges the access token of a user (RFC 8693, 2.1). The request names no acting party: the issuer knows the gateway as its client.
 * @param subject gives the user's token, for each request again.
 * @param audience the name by which the issuer knows the server, where `resource` is not enough.
 */
export function byTokenExchange({
  client,
  audience,
  subject,
}: {
  readonly client: ClientIdentity;
  readonly audience: string | undefined;
  readonly subject: () => Promise<string>;
}): Grant {
  return async ({ fetch, server, resource, scope, prover }) =>
    during(
      'the token of the user is not exchanged',
      requestTokens({
        fetch,
        server,
        client,
        prover,
        grant: tokenExchange,
        parameters: {
          subject_token: await subject(),
          subject_token_type: `${tokenType}access_token`,
          requested_token_type: `${tokenType}access_token`,
          audience,
          resource,
          scope,
        },
      }),
    );
}

/** The enterprise's identity provider, and the gateway's identity there. */
export interface IdentityProvider {
  readonly issuer: string;
  /** The client of the ID tokens. */
  readonly client: ClientIdentity;
}

/**
 * Has the identity provider make an assertion about a user for the server's issuer, and redeems it there (RFC 8693, then RFC 7523, 2.1).
 * @param client the gateway's identity at the server's issuer.
 * @param idToken gives the user's ID token, for each request again.
 */
export function byIdentityAssertion({
  provider,
  client,
  idToken,
}: {
  readonly provider: IdentityProvider;
  readonly client: ClientIdentity;
  readonly idToken: () => Promise<string>;
}): Grant {
  let known: AuthorizationServer | undefined;
  return async ({ fetch, server, resource, scope, prover }) => {
    const subject = await idToken();
    known ??= await during('the identity provider cannot be asked', issuerMetadata(fetch, provider.issuer));
    const type = `${tokenType}id-jag`;
    const { accessToken: assertion } = await during(
      'the identity provider makes no assertion about the user',
      requestTokens({
        fetch,
        server: known,
        client: provider.client,
        issues: type,
        grant: tokenExchange,
        parameters: {
          subject_token: subject,
          subject_token_type: `${tokenType}id_token`,
          requested_token_type: type,
          audience: server.issuer,
          resource,
          scope,
        },
      }),
    );
    return during(
      'the assertion about the user is not accepted',
      requestTokens({ fetch, server, client, prover, grant: jwtBearer, parameters: { assertion } }),
    );
  };
}

/** Says at which step something went wrong. */
async function during<Result>(what: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    throw new CredentialProblem(`${what}: ${error.message}`, { isPassing: error.isPassing, cause: error });
  }
}
