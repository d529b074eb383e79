/** The admin port of a running process, asked with the caller's token. */
import { CommandProblem } from '@omnibus/client';
import { environmentToken } from '../client/environment-token.ts';
import { KeptTokens } from '../sign-in/kept-tokens.ts';
import { freshToken } from '../sign-in/session.ts';

export interface AskOptions {
  /** Admin address: `host:port`, or `https://host:port` where it speaks TLS. */
  readonly admin: string;
  /** Address of the gateway for the token from `omnibus login`; without it, OMNIBUS_TOKEN is. */
  readonly signedIn?: string;
  readonly tokens?: string;
}

/** Advice for a user without access to an admin port. */
export const unknownAdvice =
  'Set OMNIBUS_TOKEN to an API key or token, or sign in (omnibus login URL --scope mcp:admin) and give --signed-in URL.';

interface AdminRequest {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request with the caller's token, and returns the response whatever its status. @throws {CommandProblem} when there is no token for `signedIn`. @throws {Error} without an answer. */
export async function openAdmin(
  { admin, signedIn, tokens }: AskOptions,
  path: string,
  { headers, ...request }: AdminRequest,
): Promise<Response> {
  const token =
    signedIn === undefined ? environmentToken() : (await freshToken(new KeptTokens(tokens), signedIn))?.accessToken;
  if (signedIn !== undefined && token === undefined)
    throw new CommandProblem('forbidden', `nobody is signed in to ${signedIn}`, {
      advice: `omnibus login ${signedIn} --scope mcp:admin`,
    });
  try {
    return await fetch(`${baseOf(admin)}${path}`, {
      ...request,
      redirect: 'error',
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    });
  } catch (error) {
    const { code: cause, message } =
      (error as Error & { readonly cause?: { readonly code?: string; readonly message?: string } }).cause ?? {};
    throw new Error(
      cause === 'ECONNREFUSED'
        ? 'nothing listens at this address: is the gateway running, with this admin address?'
        : cause === 'UND_ERR_SOCKET'
          ? 'the connection was closed: does the port speak TLS (https://HOST:PORT)?'
          : cause === 'ERR_INVALID_URL'
            ? 'this is no address: expected HOST:PORT, such as 127.0.0.1:7301'
            : cause === 'ENOTFOUND' || cause === 'EAI_AGAIN'
              ? 'there is no host of this name: expected HOST:PORT, such as 127.0.0.1:7301'
              : `it cannot be reached: ${message ?? cause ?? (error as Error).message}`,
      { cause: error },
    );
  }
}

export const baseOf = (admin: string): string =>
  /^https?:\/\//.test(admin) ? admin.replace(/\/$/, '') : `http://${admin}`;

/** The address for requests to a process of this machine that listens at this address; 127.0.0.1 for one that listens at all addresses. */
export function atThisMachine(address: string): string {
  return address.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:');
}
