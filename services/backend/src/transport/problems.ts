/** Problems on the wire in words that may reach clients: none of them are the server's own. */
import { insufficientScope } from '@omnibus/credentials';
import { maxRedirects, printable, redirectOf } from '@omnibus/protocol';
import type { EndedResponse } from './response-reader.ts';
import { noCredentials } from './trouble.ts';

const maxMediaType = 60;
/** Scopes as they may be (RFC 6749, 3.3), and not too many. */
const scopes = /^[\x20\x21\x23-\x5B\x5D-\x7E]{1,200}$/;

/**
 * Describes a refusal without a JSON-RPC body. The body is not quoted, since it may repeat our credentials, or come from a place that the client must not
 * see.
 */
export function describeStatus({ status, mediaType, lacking }: EndedResponse): string {
  if (status === 401) return 'the server wants a sign-in, or does not take the one it was shown (HTTP 401)';
  if (lacking !== undefined)
    return `the server demands more rights than it was shown (HTTP ${status}, ${insufficientScope}${scopes.test(lacking.scope ?? '') ? `: "${lacking.scope as string}"` : ''})`;
  return `the server answered HTTP ${status}${mediaType === '' ? '' : ` (${printable(mediaType, maxMediaType)})`}`;
}

/** Describes a redirect that is not followed (`redirectOf`). @param method and address of the request. */
export function describeRedirect({ status, location }: EndedResponse, method: string, address: string): string {
  const next = redirectOf({ method, address, status, location });
  return next !== undefined && 'problem' in next
    ? next.problem
    : `the server redirects (HTTP ${status}), which the gateway does not follow more than ${maxRedirects} times, nor at all with \`validation: enforce\`; configure the address it redirects to`;
}

/** Describes a response that was successful but has no answer in its body. */
export function describeSilence({ status, mediaType }: EndedResponse): string {
  return mediaType === ''
    ? `the server answered HTTP ${status} without a message`
    : `the server answered with ${printable(mediaType, maxMediaType)} that holds no answer to the request`;
}

/** Whether nothing was sent because there were no credentials to send with it. */
export function hadNoCredentials(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === noCredentials;
}

/** @param isSent false when nothing reached the server. */
export function connectionProblem(error: Error, isSent: boolean): string {
  if (hadNoCredentials(error)) return error.message;
  return isSent ? `the connection broke: ${printable(error.message)}` : `cannot connect: ${printable(error.message)}`;
}
