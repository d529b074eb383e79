/** Says in words at which step a sign-in at a provider has failed, and the provider's answer: its error code, and never its texts or tokens. */
import type * as library from 'openid-client';

/** A failed sign-in, in words that the user may read. */
export class SignInProblem extends Error {}

/** The user did not want to sign in, or the provider refused (RFC 6749, 4.1.2.1: `access_denied`). */
export class SignInRefused extends SignInProblem {}

/** Error codes are of these characters (RFC 6749, 4.1.2.1 and 5.2). */
const errorCode = /^[\x21\x23-\x5B\x5D-\x7E]{1,60}$/;

/** Meanings of the library's own codes (oauth4webapi, "Error codes"). */
const meanings: Readonly<Record<string, string>> = {
  OAUTH_TIMEOUT: 'did not answer in time',
  OAUTH_RESPONSE_IS_NOT_JSON: 'answers with something else than JSON',
  OAUTH_PARSE_ERROR: 'answers with something that cannot be read',
  OAUTH_KEY_SELECTION_FAILED: 'has published no key that fits the signature of its ID token',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'gave an ID token whose times do not fit: do the clocks differ?',
  OAUTH_MISSING_SERVER_METADATA: 'leaves out of its metadata what a sign-in needs',
  OAUTH_INVALID_SERVER_METADATA: 'has metadata that cannot be used',
  OAUTH_HTTP_REQUEST_FORBIDDEN: 'names an address that is not https://',
};
const claimCodes = new Set(['OAUTH_JWT_CLAIM_COMPARISON_FAILED', 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED']);

/** Whether the provider's answer is that the user has refused. */
export function isRefusal({ AuthorizationResponseError }: typeof library, error: unknown): boolean {
  return error instanceof AuthorizationResponseError && error.error === 'access_denied';
}

/**
 * The reason for a failed sign-in, for its user and the operator's log.
 * @param client the library that made the requests to the provider.
 * @param error that it threw while it read the provider's metadata or redeemed its answer.
 * @param host of the provider.
 */
export function signInFailure(client: typeof library, error: unknown, host: string): string {
  const { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError, ClientError } = client;
  if (error instanceof AuthorizationResponseError)
    return isRefusal(client, error)
      ? `the sign-in was refused or broken off at ${host}`
      : `${host} did not let the sign-in through: ${said(error.error)}`;
  if (error instanceof ResponseBodyError)
    return `${host} gives no tokens for the sign-in: ${said(error.error)} (HTTP ${error.status})`;
  if (error instanceof WWWAuthenticateChallengeError)
    return `${host} does not accept the gateway as its client (HTTP ${error.status})`;
  if (error instanceof ClientError) {
    const claim = claimCodes.has(error.code ?? '') ? claimIn(error) : undefined;
    const { status } = error.cause instanceof Response ? error.cause : {};
    if (status !== undefined) return `${host} answers HTTP ${status}, with nothing that a sign-in could go on with`;
    if (claim !== undefined) return `${host} gave an answer whose "${claim}" is not the expected one`;
    return `${host} ${meanings[error.code ?? ''] ?? 'gave an answer that cannot be used'}${error.code === undefined ? '' : ` (${error.code})`}`;
  }
  return `${host} cannot be reached now`;
}

function said(code: string): string {
  return errorCode.test(code) ? code : 'it does not say why';
}

/** The claim that was compared, as the library names it in the cause of its error. */
function claimIn({ cause }: Error): string | undefined {
  const details = typeof cause === 'object' && cause !== null ? (cause as Readonly<Record<string, unknown>>) : {};
  const inner = details['cause'] as Readonly<Record<string, unknown>> | undefined;
  const claim = details['claim'] ?? details['attribute'] ?? inner?.['claim'] ?? inner?.['attribute'];
  return typeof claim === 'string' && /^[\w-]{1,40}$/.test(claim) ? claim : undefined;
}
