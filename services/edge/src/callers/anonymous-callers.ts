/** Callers of an edge at which callers are not authenticated: all are anonymous. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '@omnibus/config';
import { anonymous, type Caller, type EndpointName } from '@omnibus/protocol';
import type { Callers, Sender } from './callers.ts';
import type { ClientAddresses } from './client-address.ts';

/** Bound on endpoints with a cached sender; clients may request any number of names at an edge that does not know all endpoints. */
const maxKept = 1_000;

export class AnonymousCallers implements Callers {
  readonly addresses: ClientAddresses;
  #asksForNetworks = false;
  /** The sender of each endpoint, which is the same for all requests unless rules depend on networks. */
  readonly #kept = new Map<EndpointName, Sender>();

  constructor(config: Config, addresses: ClientAddresses) {
    this.addresses = addresses;
    this.apply(config);
  }

  apply(config: Config): void {
    this.#asksForNetworks = asksForNetworks(config);
    this.#kept.clear();
  }

  admit(request: IncomingMessage, _path: string, endpoint: EndpointName): Sender {
    const known = this.#kept.get(endpoint);
    if (known !== undefined) return known;
    const { addresses } = this;
    if (this.#asksForNetworks)
      return new AnonymousSender({ principal: anonymous, endpoint, address: addresses.exact(request) }, addresses);
    const sender = new AnonymousSender({ principal: anonymous, endpoint }, addresses, new WeakMap());
    if (this.#kept.size < maxKept) this.#kept.set(endpoint, sender);
    return sender;
  }

  problemOf(): undefined {
    return undefined;
  }

  challenge(): undefined {
    return undefined;
  }

  documentAt(): undefined {
    return undefined;
  }
}

class AnonymousSender implements Sender {
  readonly caller: Caller;
  readonly tenant: undefined;
  readonly #addresses: ClientAddresses;
  /** By connection, since the address of a client without a proxy does not change; undefined for a sender of one request. */
  readonly #byConnection: WeakMap<Socket, Caller> | undefined;

  constructor(caller: Caller, addresses: ClientAddresses, byConnection?: WeakMap<Socket, Caller>) {
    this.caller = caller;
    this.#addresses = addresses;
    this.#byConnection = byConnection;
  }

  byOrigin(request: IncomingMessage): Caller {
    const { socket, headers } = request;
    const isForwarded = headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined;
    const known = isForwarded ? undefined : this.#byConnection?.get(socket);
    if (known !== undefined) return known;
    const caller = this.#at(request);
    if (!isForwarded && socket.remoteAddress !== undefined) this.#byConnection?.set(socket, caller);
    return caller;
  }

  #at(request: IncomingMessage): Caller {
    const [origin, client] = [this.#addresses.originOf(request), this.#addresses.clientOf(request)];
    return {
      ...this.caller,
      ...(origin === undefined ? {} : { origin }),
      ...(client === undefined ? {} : { client }),
    };
  }

  isOver(): boolean {
    return false;
  }

  follow(): undefined {
    return undefined;
  }
}

/** Whether some rule depends on the network of a client. */
export function asksForNetworks({ access }: Config): boolean {
  return access?.rules.some(({ network }) => network !== undefined) === true;
}
