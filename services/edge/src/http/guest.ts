/** A client within the process of an edge, such as the page of whoever runs the gateway: it comes through the same gate as one from outside. */
import type { IncomingMessage } from 'node:http';
import type { Facts } from '@omnibus/identity';
import { anonymous, fault, type Caller, type EndpointName, type GatewayFault } from '@omnibus/protocol';
import type { Gatekeeper } from '../callers/gatekeeper.ts';
import { knownCaller, type Gate } from './arrival.ts';
import type { Endpoints } from '../requests/endpoints.ts';
import { DuplexClient, type DuplexOptions } from '../duplex/duplex-client.ts';

export interface Guest {
  /** Takes one serialised message. */
  receive(message: string): void;
  /** Its session ends with it. */
  end(): Promise<void>;
}

export interface GuestOptions {
  /** Says who asks, by its credentials, and from where. */
  readonly request: IncomingMessage;
  readonly endpoint: EndpointName;
  /** Takes one serialised message. */
  readonly write: (text: string) => void;
  /** The gateway has nothing more to say, or it is not proven any more who hears it. */
  readonly ended: () => void;
}

interface Doors extends Pick<DuplexOptions, 'bus' | 'delivery' | 'meter'> {
  readonly gate: Gate;
  readonly gatekeeper: Gatekeeper | undefined;
  readonly endpoints: Endpoints;
}

/** Lets a guest in as whoever its request shows it to be. @returns why not, where it is not let in. */
export function welcome({ bus, delivery, meter, gate, gatekeeper, endpoints }: Doors, { request, endpoint, write, ended }: GuestOptions): Promise<Guest | { readonly fault: GatewayFault }> {
  const { boundary, rate, limits, addresses, tenures, proofs } = gate;
  const enter = (caller: Caller, facts: Facts | undefined): Guest | { readonly fault: GatewayFault } => {
    if (!endpoints.has(endpoint) || !endpoints.isFor(endpoint, facts?.tenant)) return { fault: fault('http.path_unknown') };
    const client = new DuplexClient({ bus, delivery, limits, meter, boundary, rate, caller: gate.rules.askForNetworks ? { ...caller, address: addresses.exact(request) } : caller, address: addresses.of(request), carrier: 'pipe', write, ended });
    const endTenure = facts === undefined ? undefined : tenures.begin(facts, ended);
    return {
      receive: (message) => client.receiveBytes(Buffer.from(message)),
      end() {
        endTenure?.();
        return client.end();
      },
    };
  };
  if (gatekeeper === undefined) return Promise.resolve(enter({ principal: anonymous, endpoint }, undefined));
  return new Promise((resolve) => {
    gatekeeper.ask({
      request, endpoint,
      path: `/mcp${endpoint === '' ? '' : `/${endpoint}`}`,
      run: (work) => boundary.run((gatewayFault) => resolve({ fault: gatewayFault }), work),
      admit: (facts) => resolve(enter(knownCaller(facts, endpoint, proofs), facts)),
      refuse: (gatewayFault) => resolve({ fault: gatewayFault }),
    });
  });
}
