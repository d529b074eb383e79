/** Authenticates each request before its body is read, and tells unauthenticated clients how to authenticate. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Blocks } from '@omnibus/bus';
import { bearerChallenge, type Authenticator, type Verdict } from '@omnibus/identity';
import type { EndpointName, GatewayFault } from '@omnibus/protocol';
import type { ClientAddresses } from './client-address.ts';
import type { ScopesOfEndpoints } from './endpoint-scopes.ts';
import { plainPath, type ResourceMetadata } from './resource-metadata.ts';

export interface GatekeeperOptions {
  readonly authenticator: Authenticator;
  readonly addresses: ClientAddresses;
  readonly blocks?: Pick<Blocks, 'callerProblem'> | undefined;
  /** What endpoints need of tokens. */
  readonly scopes: Pick<ScopesOfEndpoints, 'problemOf'>;
  /** Protected resource metadata; undefined where no issuer of tokens is configured. */
  readonly metadata: ResourceMetadata | undefined;
  /** Called for each refused request. */
  readonly refused?:
    | ((request: IncomingMessage, endpoint: EndpointName, gatewayFault: GatewayFault) => void)
    | undefined;
}

/** Paths at which clients up to 2025-03-26 look for the authorization server (authorization, Server Metadata Discovery). */
const serverMetadata = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

export class Gatekeeper {
  readonly #options: GatekeeperOptions;

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  /**
   * Authenticates a request: synchronously if that is possible, else later, if the client is still connected.
   * @param path of the request, with its query.
   * @param work runs a part of the work later; what it throws becomes the answer.
   * @param decide called with who has sent the request, or why it is refused.
   */
  ask(
    request: IncomingMessage,
    path: string,
    endpoint: EndpointName,
    work: { run(part: () => void): void },
    decide: (verdict: Verdict) => void,
  ): void {
    const { authenticator, addresses } = this.#options;
    const { socket } = request;
    const proven = authenticator.authenticate(request, {
      url: path,
      endpoint,
      peer: socket.remoteAddress,
      secure: socket instanceof TLSSocket ? socket : undefined,
      address: () => addresses.of(request),
    });
    if (!(proven instanceof Promise)) decide(this.#judged(proven, request, endpoint));
    else
      void proven.then((found) => {
        if (!socket.destroyed) work.run(() => decide(this.#judged(found, request, endpoint)));
      });
  }

  /** The verdict about a request whose sender is known, or not. */
  #judged(proven: Verdict, request: IncomingMessage, endpoint: EndpointName): Verdict {
    const { blocks, scopes, refused } = this.#options;
    const problem =
      'fault' in proven ? proven.fault : (blocks?.callerProblem(proven) ?? scopes.problemOf(proven, endpoint));
    if (problem === undefined) return proven;
    refused?.(request, endpoint, problem);
    return 'fault' in proven ? proven : { fault: problem };
  }

  /**
   * The metadata document at a path; undefined where there is none.
   * @throws {Error} when the metadata of the authorization server cannot be read.
   */
  documentAt(path: string, isServed: (endpoint: string) => boolean): string | Promise<string> | undefined {
    const { authenticator, metadata } = this.#options;
    if (metadata === undefined) return undefined;
    return serverMetadata.includes(plainPath(path))
      ? authenticator.serverMetadata().then((document) => JSON.stringify(document))
      : metadata.documentAt(path, isServed);
  }

  /**
   * The `WWW-Authenticate` of a refusal (RFC 6750, 3 and RFC 9728, 5.1). The text names only what is wrong with the token.
   * @param path of the request, with its query.
   */
  challenge({ reason, message, data }: GatewayFault, path: string): string {
    const { metadata } = this.#options;
    const scopes = (data?.['requiredScopes'] as readonly string[] | undefined) ?? metadata?.scopesFor(path) ?? [];
    return bearerChallenge(
      { reason, message },
      metadata === undefined
        ? [['realm', 'omnibus']]
        : [
            ['resource_metadata', metadata.addressFor(path)],
            ...(scopes.length === 0 ? [] : [['scope', scopes.join(' ')] as const]),
          ],
    );
  }
}
