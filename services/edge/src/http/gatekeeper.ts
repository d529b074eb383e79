/** Asks of each request who it comes from, before anything of it is read, and tells strangers how to be known. */
import type { IncomingMessage } from 'node:http';
import type { Authenticator, Facts, Verdict } from '@omnibus/identity';
import type { EndpointName, GatewayFault } from '@omnibus/protocol';

/** What RFC 6750, 3.1 calls a refusal; nothing where no credential was sent. */
const errorCodes: Partial<Record<GatewayFault['reason'], string>> = { 'auth.invalid': 'invalid_token', 'auth.endpoint': 'insufficient_scope', 'auth.query': 'invalid_request' };

export class Gatekeeper {
  readonly #authenticator: Authenticator;

  constructor(authenticator: Authenticator) {
    this.#authenticator = authenticator;
  }

  /**
   * @param path with the query.
   * @param refuse is told the fault, and the `WWW-Authenticate` that goes with it.
   */
  ask(request: IncomingMessage, path: string, endpoint: EndpointName, admit: (facts: Facts) => void, refuse: (gatewayFault: GatewayFault, challenge: string) => void): void {
    const decide = (verdict: Verdict): void => {
      if ('fault' in verdict) refuse(verdict.fault, challengeOf(verdict.fault));
      else admit(verdict);
    };
    decide(this.#authenticator.authenticate(request, path, endpoint));
  }
}

/** RFC 6750, 3. The text says nothing of the token but what is wrong with it. */
function challengeOf({ reason, message }: GatewayFault): string {
  const error = errorCodes[reason];
  const parameters = [['realm', 'omnibus'], ...(error === undefined ? [] : [['error', error], ['error_description', message.replaceAll(/["\\]/g, "'")]])];
  return `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
}
