/** How issuers are reached: whoever makes a `Fetch` sees to it that it leads nowhere it must not, and to bounds of time and size. */

/** Answers in the form of the standard `fetch`, its body whole. @throws {Error} in words that hold nothing of what was sent. */
export type Fetch = (address: string, request?: { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }) => Promise<Response>;

const loopback = /^(localhost|(?:[^.]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export function isLoopback(hostname: string): boolean {
  return loopback.test(hostname);
}

/** Whether secrets may be sent to an address: over TLS, or within this machine. */
export function isTrustworthy(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  return username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)));
}

/** What went wrong, in words for clients and operators: none of them are an issuer's own. */
export class CredentialProblem extends Error {
  /** Asking again may help: nobody answered, or said that he cannot just now. */
  readonly isPassing: boolean;

  constructor(message: string, options: { readonly isPassing?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CredentialProblem';
    this.isPassing = options.isPassing ?? false;
  }
}
