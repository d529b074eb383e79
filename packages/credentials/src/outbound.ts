/** Requests to issuers. The implementation of `Fetch` must refuse forbidden addresses, and bound time and size of the answers. */

/** Makes a request as the standard `fetch` does, and reads the whole body. @throws {Error} with a message that repeats no part of the request. */
export type Fetch = (
  address: string,
  request?: { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
) => Promise<Response>;

const loopback = /^(localhost|(?:[^.]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export function isLoopback(hostname: string): boolean {
  return loopback.test(hostname);
}

/** Whether secrets may be sent to an address: over TLS, or within this machine. */
export function isTrustworthy(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  return (
    username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)))
  );
}

/** A problem with credentials. Its message is for clients and operators, and repeats no text of an issuer. */
export class CredentialProblem extends Error {
  /** Whether another attempt may succeed: the issuer did not answer, or is temporarily unavailable. */
  readonly isPassing: boolean;

  constructor(message: string, options: { readonly isPassing?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CredentialProblem';
    this.isPassing = options.isPassing ?? false;
  }
}
