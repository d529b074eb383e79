/** How issuers are reached from here: what a server or an issuer names may not lead to this machine, to its link, or to where clouds keep credentials. */
import { CredentialProblem, isLoopback, type Fetch } from '@omnibus/credentials';
import { printable } from '@omnibus/protocol';
import { fetch as fetchOver, type Dispatcher } from 'undici';
import { addressRefused, type AddressRule } from '../address-rule.ts';

/** Metadata and tokens are small. */
const maxBytes = 256 * 1_024;
const answerMs = 10_000;

/** Where issuers of a server may be. @param own addresses from the configuration, whose hosts the operator has chosen. */
export function issuersOf(own: readonly (string | undefined)[], allowedHosts: readonly string[]): AddressRule {
  const hosts = own.flatMap((address) => (address === undefined ? [] : [new URL(address).hostname]));
  // Whoever calls servers of this machine has his issuers there too.
  return { allowedHosts: [...new Set([...hosts, ...allowedHosts, ...(hosts.some(isLoopback) ? ['localhost', '127.0.0.1', '[::1]'] : [])])] };
}

/** @param dispatcher whose connections are guarded. */
export function outbound(dispatcher: Dispatcher): Fetch {
  return async (address, { method = 'GET', headers = {}, body } = {}) => {
    try {
      // Nobody is followed elsewhere: what is sent is for whom it was addressed to.
      const answer = await fetchOver(address, { method, headers, dispatcher, redirect: 'manual', signal: AbortSignal.timeout(answerMs), ...(body === undefined ? {} : { body }) });
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of answer.body ?? []) {
        bytes += (chunk as Uint8Array).length;
        if (bytes > maxBytes) throw new CredentialProblem(`its answer is larger than ${maxBytes} bytes`);
        chunks.push(chunk as Uint8Array);
      }
      const status = answer.status >= 200 && answer.status < 600 ? answer.status : 502;
      return new Response([204, 205, 304].includes(status) ? null : Buffer.concat(chunks), { status, headers: { 'content-type': answer.headers.get('content-type') ?? '' } });
    } catch (error) {
      const { message, cause } = error as Error & { readonly cause?: Error & { readonly code?: string } };
      const isRefused = cause?.code === addressRefused;
      throw new CredentialProblem(`${placeOf(address)} cannot be asked: ${printable(isRefused ? cause.message : (cause?.code ?? message), 200)}`, { isPassing: !isRefused, cause: error });
    }
  };
}

/** Without what may stand in a query. */
function placeOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return printable(`${origin}${pathname}`, 200);
}
