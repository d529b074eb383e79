/** Asks of each request who it comes from, before anything of it is read, and tells strangers how to be known. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Blocks } from '@omnibus/bus';
import type { Authenticator, Facts, Verdict } from '@omnibus/identity';
import type { EndpointName, GatewayFault } from '@omnibus/protocol';
import type { ClientAddresses } from './client-address.ts';
import type { ResourceMetadata } from './resource-metadata.ts';

export interface GatekeeperOptions {
  readonly authenticator: Authenticator;
  readonly addresses: ClientAddresses;
  readonly blocks?: Pick<Blocks, 'callerProblem'> | undefined;
  /** Undefined where nobody gives tokens. */
  readonly metadata: ResourceMetadata | undefined;
  /** Hears of whom it does not let in. */
  readonly refused?: ((request: IncomingMessage, endpoint: EndpointName, gatewayFault: GatewayFault) => void) | undefined;
}

export interface Stranger {
  readonly request: IncomingMessage;
  /** Address of the request, with its query. */
  readonly path: string;
  readonly endpoint: EndpointName;
  /** Does a part of the work; a throw becomes its answer. */
  readonly run: (work: () => void) => void;
  readonly admit: (facts: Facts) => void;
  /** @param challenge the `WWW-Authenticate` that goes with it. */
  readonly refuse: (gatewayFault: GatewayFault, challenge: string) => void;
}

/** What RFC 6750, 3.1 calls a refusal; nothing where no credential was sent. */
const errorCodes: Partial<Record<GatewayFault['reason'], string>> = { 'auth.invalid': 'invalid_token', 'auth.scope': 'insufficient_scope', 'auth.endpoint': 'insufficient_scope', 'auth.query': 'invalid_request' };
/** Where clients up to 2025-03-26 look for the authorization server (authorization, Server Metadata Discovery). */
const serverMetadata = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

export class Gatekeeper {
  readonly #options: GatekeeperOptions;

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  /** Tells at once where that is known already, else when it has been found out and somebody still waits. */
  ask(stranger: Stranger): void {
    const { request, path, endpoint, run, admit, refuse } = stranger;
    const { authenticator, addresses, blocks } = this.#options;
    const decide = (verdict: Verdict): void => {
      const problem = 'fault' in verdict ? verdict.fault : blocks?.callerProblem(verdict);
      if (problem !== undefined) {
        refuse(problem, this.#challenge(problem, path));
        this.#options.refused?.(request, endpoint, problem);
      } else if (!('fault' in verdict)) {
        admit(verdict);
      }
    };
    const verdict = authenticator.authenticate(request, { url: path, endpoint, peer: request.socket.remoteAddress, secure: request.socket instanceof TLSSocket ? request.socket : undefined, address: () => addresses.of(request) });
    if (!(verdict instanceof Promise)) {
      decide(verdict);
      return;
    }
    void verdict.then((found) => {
      if (!request.socket.destroyed) run(() => decide(found));
    });
  }

  /**
   * The document at a path that tells how to be known; undefined where there is none.
   * @throws {Error} when the authorization server does not say it.
   */
  documentAt(path: string, isServed: (endpoint: string) => boolean): string | Promise<string> | undefined {
    const { authenticator, metadata } = this.#options;
    if (metadata === undefined) return undefined;
    return serverMetadata.includes(path) ? authenticator.serverMetadata().then((document) => JSON.stringify(document)) : metadata.documentAt(path, isServed);
  }

  /** RFC 6750, 3 and RFC 9728, 5.1. The text says nothing of the token but what is wrong with it. */
  #challenge({ reason, message }: GatewayFault, path: string): string {
    const { metadata } = this.#options;
    const error = errorCodes[reason];
    const parameters = [
      metadata === undefined ? ['realm', 'omnibus'] : ['resource_metadata', metadata.addressFor(path)],
      ...(metadata === undefined || metadata.scopes.length === 0 ? [] : [['scope', metadata.scopes.join(' ')]]),
      ...(error === undefined ? [] : [['error', error], ['error_description', message.replaceAll(unquotable, "'")]]),
    ];
    return `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
  }
}

/** What may not stand in an `error_description` (RFC 6750, 3). */
const unquotable = /[^\x20\x21\x23-\x5B\x5D-\x7E]/g;
