/** Questions to a gateway and to the issuer that it names, and their failures in words for the user. */
import type * as oidc from 'openid-client';
import type { Configuration, DiscoveryRequestOptions } from 'openid-client';
import { isLoopback } from '@omnibus/config';
import { getFollowing } from '@omnibus/protocol';
import { type Exit, CommandProblem } from '@omnibus/client';

/** A problem with a message for the user. */
export class SignInProblem extends CommandProblem {
  constructor(
    message: string,
    exit: Exit = 'other',
    more: { readonly cause?: unknown; readonly advice?: string | undefined } = {},
  ) {
    super(exit, message, more);
    this.cause = more.cause;
  }
}

const answerSeconds = 15;

export async function discovered(
  issuer: string,
  clientId: string,
  clientSecret: string | undefined,
): Promise<Configuration> {
  const client = await import('openid-client');
  return client.discovery(
    new URL(issuer),
    clientId,
    clientSecret,
    clientSecret === undefined ? client.None() : undefined,
    await discoveryOptions(client, issuer),
  );
}

/**
 * How the metadata of an issuer are read: Entra and Google have those of OpenID Connect only, others those of RFC 8414. http:// is allowed only for this machine.
 * @throws {SignInProblem} when there are neither.
 */
export async function discoveryOptions(client: typeof oidc, issuer: string): Promise<DiscoveryRequestOptions> {
  const problems: string[] = [];
  for (const algorithm of ['oauth2', 'oidc'] as const) {
    const options = {
      algorithm,
      timeout: answerSeconds,
      ...(isHere(issuer) ? { execute: [client.allowInsecureRequests] } : {}),
    };
    try {
      await client.discovery(new URL(issuer), 'unregistered', undefined, client.None(), options);
      return options;
    } catch (error) {
      const { status } = (error as { readonly cause?: { readonly status?: number } }).cause ?? {};
      if (status === undefined && isNoAnswer(error))
        throw new SignInProblem(`${issuer}, where one signs in, cannot be reached: ${causeOf(error)}`, 'unreachable', {
          cause: error,
        });
      problems.push(status === undefined ? causeOf(error) : `HTTP ${status}`);
    }
  }
  throw new SignInProblem(
    `${issuer} does not say how one signs in there: its metadata are neither at /.well-known/oauth-authorization-server (${problems[0] ?? ''}) nor at .../.well-known/openid-configuration (${problems[1] ?? ''})`,
  );
}

/** Whether an address is one of this machine over http://. */
export function isHere(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && isLoopback(hostname);
}

interface Failure extends Error {
  readonly code?: string | number;
  readonly cause?: Failure;
}

/** The innermost error that a failed request has: the one of the network or of TLS. */
function innermost(error: unknown): Failure {
  let found = error as Failure;
  while (found.cause instanceof Error) found = found.cause;
  return found;
}

/** Whether a request failed before there was an answer. */
const isNoAnswer = (error: unknown): boolean =>
  /^(E[A-Z]+|UND_ERR_\w+|ERR_(?:SSL|TLS)_\w+)$/.test(codeOf(error)) || isOfCertificate(error);
const codeOf = (error: unknown): string => String(innermost(error).code ?? '');
const isOfCertificate = (error: unknown): boolean => /CERT|SIGNATURE/.test(codeOf(error));

function causeOf(error: unknown): string {
  const { code, message } = innermost(error);
  // The code of a time-out is a number.
  if (typeof code !== 'string') return message;
  return isOfCertificate(error)
    ? `its certificate is not accepted (${code}); NODE_EXTRA_CA_CERTS=FILE names further authorities`
    : code;
}

/** @throws {SignInProblem} without an answer. */
export async function reach(url: string, request: RequestInit): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(answerSeconds * 1_000);
    return await (request.method === undefined || request.method === 'GET'
      ? getFollowing(url, (at) => fetch(at, { ...request, redirect: 'manual', signal }))
      : fetch(url, { ...request, redirect: 'error', signal }));
  } catch (error) {
    throw new SignInProblem(`${url} cannot be reached: ${causeOf(error)}`, 'unreachable', { cause: error });
  }
}

/** Turns the exception of a library into a `SignInProblem` with a message for the user, which never contains a token. */
export async function inWords<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignInProblem) throw error;
    const {
      message,
      error: code,
      error_description: description,
    } = error as Error & { readonly error?: string; readonly error_description?: string };
    // A code of OAuth is an answer; without one, there is no answer, or an invalid one.
    if (code === undefined)
      throw new SignInProblem(`the sign-in has failed: ${message}`, 'unreachable', { cause: error });
    throw new SignInProblem(
      `the sign-in has failed: ${code}${description === undefined ? '' : `: ${description}`}`,
      code === 'expired_token' ? 'timeout' : 'forbidden',
      { cause: error },
    );
  }
}
