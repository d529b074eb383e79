/** A client within the process of an edge, such as the operator's console. It passes the same checks as a client from outside. */
import type { IncomingMessage } from 'node:http';
import type { Facts } from '@omnibus/identity';
import { anonymous, fault, type Caller, type EndpointName, type GatewayFault } from '@omnibus/protocol';
import type { Gatekeeper } from '../callers/gatekeeper.ts';
import { knownCaller, withAddress, type Gate } from './arrival.ts';
import type { Endpoints } from '../requests/endpoints.ts';
import { DuplexClient, type DuplexOptions } from '../duplex/duplex-client.ts';

export interface Guest {
  /** Handles one serialised message of the client. */
  receive(message: string): void;
  /** Ends the client and its session. */
  end(): Promise<void>;
}

export interface GuestOptions {
  /** The request whose credentials and address the client has. */
  readonly request: IncomingMessage;
  readonly endpoint: EndpointName;
  /** Receives one serialised message for the client. */
  readonly write: (text: string) => void;
  /** Called when the gateway ends the connection, or the credentials are no longer valid. */
  readonly ended: () => void;
}

interface GuestParts extends Pick<DuplexOptions, 'bus' | 'delivery' | 'meter'> {
  readonly gate: Gate;
  readonly gatekeeper: Gatekeeper | undefined;
  readonly endpoints: Endpoints;
}

/** Connects a guest as the caller that its request authenticates. @returns the fault if it is refused. */
export function connectGuest(
  { bus, delivery, meter, gate, gatekeeper, endpoints }: GuestParts,
  { request, endpoint, write, ended }: GuestOptions,
): Promise<Guest | { readonly fault: GatewayFault }> {
  const { boundary, rate, limits, addresses, credentialLifetimes, proofs } = gate;
  const enter = (caller: Caller, facts: Facts | undefined): Guest | { readonly fault: GatewayFault } => {
    if (!endpoints.has(endpoint) || !endpoints.isFor(endpoint, facts?.tenant))
      return { fault: fault('http.path_unknown') };
    const client = new DuplexClient({
      bus,
      delivery,
      limits,
      meter,
      boundary,
      rate,
      bodies: undefined,
      caller: withAddress(caller, request, gate),
      address: addresses.of(request),
      carrier: 'pipe',
      write,
      ended,
    });
    const changed = (now: Facts, hasOtherRights: boolean): void =>
      client.proves(withAddress(knownCaller(now, endpoint, proofs), request, gate), hasOtherRights);
    const endLifetime =
      facts === undefined ? undefined : credentialLifetimes.begin({ facts, request, endpoint, changed }, ended);
    return {
      receive: (message) => client.receiveBytes(Buffer.from(message)),
      end() {
        endLifetime?.();
        return client.end();
      },
    };
  };
  if (gatekeeper === undefined) return Promise.resolve(enter({ principal: anonymous, endpoint }, undefined));
  return new Promise((resolve) => {
    const work = { run: (part: () => void) => boundary.run((gatewayFault) => resolve({ fault: gatewayFault }), part) };
    gatekeeper.ask(request, `/mcp${endpoint === '' ? '' : `/${endpoint}`}`, endpoint, work, (verdict) =>
      resolve('fault' in verdict ? verdict : enter(knownCaller(verdict, endpoint, proofs), verdict)),
    );
  });
}
