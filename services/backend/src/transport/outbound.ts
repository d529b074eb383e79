/**
 * How issuers are reached: an address that a server or an issuer names must not lead to this machine, to a link-local address, to where clouds serve
 * credentials, or into a private network.
 */
import { CredentialProblem, isLoopback, type Fetch } from '@omnibus/credentials';
import { getFollowing, printable, readWithin } from '@omnibus/protocol';
import type { Dispatcher } from 'undici';
import { addressRefused, isPrivate, type AddressRule } from './address-rule.ts';

/** Bound on an answer of an issuer: metadata and tokens are small. */
const maxBytes = 256 * 1_024;
const answerMs = 10_000;

/** The address rule for issuers of a server. @param own addresses from the configuration, with hosts that the operator has chosen. */
export function issuersOf(own: readonly (string | undefined)[], allowedHosts: readonly string[]): AddressRule {
  const hosts = own.flatMap((address) => (address === undefined ? [] : [new URL(address).hostname]));
  // A server on this machine may have its issuer on this machine, and one in a private network in a private network.
  return {
    allowedHosts: [
      ...new Set([...hosts, ...allowedHosts, ...(hosts.some(isLoopback) ? ['localhost', '127.0.0.1', '[::1]'] : [])]),
    ],
    isPublicOnly: !hosts.some((host) => isLoopback(host) || isPrivate(host)),
    option: "`issuer` or `allowedHosts` of the server's `credentials`",
  };
}

/** @param dispatcher checks the addresses that it connects to. */
export function outbound(dispatcher: Dispatcher): Fetch {
  return async (address, { method = 'GET', headers = {}, body } = {}) => {
    try {
      const { fetch: fetchOver } = await import('undici');
      const signal = AbortSignal.timeout(answerMs);
      const send = (at: string): ReturnType<typeof fetchOver> =>
        fetchOver(at, {
          method,
          headers,
          dispatcher,
          redirect: 'manual',
          signal,
          ...(body === undefined ? {} : { body }),
        });
      // Documents may have moved within their origin. Posted data are for this address only.
      const answer = await (method === 'GET' ? getFollowing(address, send) : send(address));
      const tooLarge = (): Error => new CredentialProblem(`its answer is larger than ${maxBytes} bytes`);
      const bytes = await readWithin(answer.body, maxBytes, tooLarge);
      const status = answer.status >= 200 && answer.status < 600 ? answer.status : 502;
      return new Response([204, 205, 304].includes(status) ? null : bytes, {
        status,
        headers: keptHeaders(answer.headers),
      });
    } catch (error) {
      const { message, cause } = error as Error & { readonly cause?: Error & { readonly code?: string } };
      const isRefused = cause?.code === addressRefused;
      throw new CredentialProblem(
        `${placeOf(address)} cannot be asked: ${printable(isRefused ? cause.message : (cause?.code ?? message), 200)}`,
        { isPassing: !isRefused, cause: error },
      );
    }
  };
}

/** Headers of an answer that matter: its type, and the nonce for the next proof of possession (RFC 9449, 8). */
function keptHeaders(headers: { get(name: string): string | null }): Record<string, string> {
  const nonce = headers.get('dpop-nonce');
  return { 'content-type': headers.get('content-type') ?? '', ...(nonce === null ? {} : { 'dpop-nonce': nonce }) };
}

/** The address without its query, which may contain secrets. */
function placeOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return printable(`${origin}${pathname}`, 200);
}
