import { getFollowing, objectIn, readWithin, type JsonObject } from '@omnibus/protocol';

/** Bound on an answer: metadata, keys and introspection answers are small. */
const maxBytes = 256 * 1024;
const answerMs = 5_000;

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether answers from an address can be trusted: it uses TLS, or is on this machine. */
export function isTrustworthy(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  return (
    username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname)))
  );
}

/**
 * Fetches a JSON object within bounds of time and size, following redirects within the origin for documents only.
 * @throws {Error} in words that name the address, and nothing of the request.
 */
export async function fetchJson(
  address: string,
  request: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  } = {},
): Promise<JsonObject> {
  if (!isTrustworthy(address)) throw new Error(`${address} is neither https:// nor on this machine`);
  try {
    const signal = AbortSignal.timeout(answerMs);
    const send = (at: string): Promise<Response> =>
      fetch(at, {
        ...request,
        headers: { accept: 'application/json', ...request.headers },
        redirect: 'manual',
        signal,
      });
    const isDocument = request.method === undefined || request.method === 'GET';
    const response = await (isDocument ? getFollowing(address, send) : send(address));
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`it answers ${response.status}`);
    }
    const tooLarge = (): Error => new Error(`its answer is larger than ${maxBytes} bytes`);
    const value = objectIn(new TextDecoder().decode(await readWithin(response.body, maxBytes, tooLarge)));
    if (value !== undefined) return value;
    throw new Error('its answer is no JSON object');
  } catch (error) {
    const { message, cause } = error as Error & {
      readonly cause?: { readonly code?: string; readonly message?: string };
    };
    throw new Error(`${address}: ${cause?.code ?? cause?.message ?? message}`, { cause: error });
  }
}
