/** Callers that an edge authenticates: each request before its body is read. Tells unauthenticated clients how to authenticate. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Blocks } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { bearerChallenge, type Authenticator, type Facts, type Proofs } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Caller, EndpointName, GatewayFault } from '@omnibus/protocol';
import type { EdgeWatcher } from '../requests/edge-watcher.ts';
import type { Callers, Sender, Verdict } from './callers.ts';
import type { ClientAddresses } from './client-address.ts';
import { CredentialLifetimes, type Proven } from './credential-lifetimes.ts';
import { ScopesOfEndpoints } from './endpoint-scopes.ts';
import { plainPath, ResourceMetadata } from './resource-metadata.ts';
import { asksForNetworks } from './anonymous-callers.ts';

export interface KnownCallersOptions {
  readonly config: Config;
  readonly wheel: DeadlineWheel;
  readonly addresses: ClientAddresses;
  readonly authenticator: Authenticator;
  readonly blocks: Blocks | undefined;
  /** Signs the facts about callers on the bus; undefined in a gateway of one process, where no other process is on it. */
  readonly proofs: Proofs | undefined;
  readonly watcher: EdgeWatcher | undefined;
}

/** Paths at which clients up to 2025-03-26 look for the authorization server (authorization, Server Metadata Discovery). */
const serverMetadata = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

export class KnownCallers implements Callers {
  readonly addresses: ClientAddresses;
  readonly #options: KnownCallersOptions;
  readonly #lifetimes: CredentialLifetimes;
  readonly #scopes: ScopesOfEndpoints;
  /** Protected resource metadata; undefined where no issuer of tokens is configured. */
  readonly #metadata: ResourceMetadata | undefined;
  /** In a gateway of one process, the last caller that some facts are about, so that requests at one endpoint with the same credential have the same caller. */
  readonly #callers = new WeakMap<Facts, Caller>();
  readonly #host: SenderHost;
  #config: Config;
  #asksForNetworks: boolean;

  constructor(options: KnownCallersOptions) {
    this.#options = options;
    const { config, wheel, addresses, authenticator, blocks } = options;
    this.addresses = addresses;
    this.#config = config;
    this.#asksForNetworks = asksForNetworks(config);
    this.#scopes = new ScopesOfEndpoints(() => this.#config);
    this.#metadata = metadataOf(config, this.#scopes);
    this.#lifetimes = new CredentialLifetimes({
      wheel,
      current: (facts) => {
        const current = authenticator.current(facts);
        return current === undefined || blocks?.callerProblem(current) !== undefined ? undefined : current;
      },
      askAbout: (proven) => (authenticator.mustAsk(proven.facts) ? (last) => this.#askAgain(last, proven) : undefined),
    });
    this.#host = {
      lifetimes: this.#lifetimes,
      callerOf: (facts, request, endpoint) => this.#callerOf(facts, request, endpoint),
    };
    authenticator.onRevoked(() => this.#lifetimes.review());
    blocks?.onChanged(() => this.#lifetimes.review());
  }

  apply(config: Config): void {
    this.#config = config;
    this.#asksForNetworks = asksForNetworks(config);
  }

  admit(request: IncomingMessage, path: string, endpoint: EndpointName, isPage = false): Verdict | Promise<Verdict> {
    const { socket } = request;
    const proven = this.#options.authenticator.authenticate(request, {
      url: path,
      endpoint,
      peer: socket.remoteAddress,
      secure: socket instanceof TLSSocket ? socket : undefined,
      address: () => this.addresses.of(request),
    });
    return proven instanceof Promise
      ? proven.then((found) => this.#judged(found, request, endpoint, isPage))
      : this.#judged(proven, request, endpoint, isPage);
  }

  #judged(
    proven: Facts | { readonly fault: GatewayFault },
    request: IncomingMessage,
    endpoint: EndpointName,
    isPage: boolean,
  ): Verdict {
    const { blocks, watcher } = this.#options;
    const problem =
      'fault' in proven
        ? proven.fault
        : (blocks?.callerProblem(proven) ?? (isPage ? undefined : this.#scopes.problemOf(proven, endpoint)));
    if (problem === undefined && !('fault' in proven)) return new KnownSender(proven, request, endpoint, this.#host);
    const refusal = { fault: problem as GatewayFault };
    if (!request.socket.destroyed) watcher?.refused?.(this.addresses.of(request), endpoint, refusal.fault);
    return refusal;
  }

  /** The caller that facts are about, with its network address if a rule depends on that. */
  #callerOf(facts: Facts, request: IncomingMessage, endpoint: EndpointName): Caller {
    const { principal } = facts;
    const { proofs } = this.#options;
    let caller: Caller | undefined;
    if (proofs !== undefined) caller = { principal, endpoint, proof: proofs.of(facts) };
    else {
      caller = this.#callers.get(facts);
      if (caller?.endpoint !== endpoint) this.#callers.set(facts, (caller = { principal, endpoint, facts }));
    }
    return this.#asksForNetworks ? { ...caller, address: this.addresses.exact(request) } : caller;
  }

  /** Whether an issuer's answer about a credential is unchanged. */
  async #askAgain(last: Facts, { request, endpoint }: Proven): Promise<Facts | undefined> {
    const now = await this.#options.authenticator.ask(last, request, endpoint);
    return now === undefined || this.#scopes.problemOf(now, endpoint) !== undefined ? undefined : now;
  }

  problemOf(caller: Caller): GatewayFault | undefined {
    return this.#options.proofs?.problemOf(caller, true);
  }

  documentAt(path: string, isServed: (endpoint: string) => boolean): string | Promise<string> | undefined {
    if (this.#metadata === undefined) return undefined;
    return serverMetadata.includes(plainPath(path))
      ? this.#options.authenticator.serverMetadata().then((document) => JSON.stringify(document))
      : this.#metadata.documentAt(path, isServed);
  }

  /** As RFC 6750, 3 and RFC 9728, 5.1 have it. The text names only the problem of the token. */
  challenge({ reason, message, data }: GatewayFault, path: string): string {
    const metadata = this.#metadata;
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

/** What senders need of the callers of their edge. */
interface SenderHost {
  readonly lifetimes: CredentialLifetimes;
  readonly callerOf: (facts: Facts, request: IncomingMessage, endpoint: EndpointName) => Caller;
}

class KnownSender implements Sender {
  readonly caller: Caller;
  readonly tenant: string | undefined;
  readonly #facts: Facts;
  readonly #request: IncomingMessage;
  readonly #host: SenderHost;
  readonly #provenAt: number;

  constructor(facts: Facts, request: IncomingMessage, endpoint: EndpointName, host: SenderHost) {
    this.caller = host.callerOf(facts, request, endpoint);
    this.tenant = facts.tenant;
    this.#facts = facts;
    this.#request = request;
    this.#host = host;
    this.#provenAt = host.lifetimes.reviews;
  }

  byOrigin(): Caller {
    return this.caller;
  }

  isOver(): boolean {
    return this.#host.lifetimes.areOver(this.#facts, this.#provenAt);
  }

  follow(changed: (caller: Caller, hasOtherRights: boolean) => void, end: () => void): () => void {
    const { lifetimes, callerOf } = this.#host;
    const { endpoint } = this.caller;
    return lifetimes.begin(
      {
        facts: this.#facts,
        request: this.#request,
        endpoint,
        changed: (now, hasOtherRights) => changed(callerOf(now, this.#request, endpoint), hasOtherRights),
      },
      end,
    );
  }
}

function metadataOf({ auth, publicUrl }: Config, scopes: ScopesOfEndpoints): ResourceMetadata | undefined {
  if (auth === undefined || auth === 'none' || publicUrl === undefined) return undefined;
  const issuers = [...(auth.server === undefined ? [] : [publicUrl]), ...auth.issuers.map(({ issuer }) => issuer)];
  return issuers.length === 0
    ? undefined
    : new ResourceMetadata({ publicUrl, issuers, scopes, needsBinding: auth.dpop.required });
}
