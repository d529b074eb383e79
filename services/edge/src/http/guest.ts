/** A client within the process of an edge, such as the operator's console. It passes the same checks as a client from outside. */
import type { IncomingMessage } from 'node:http';
import { fault, type EndpointName, type GatewayFault } from '@omnibus/protocol';
import type { Sender } from '../callers/callers.ts';
import type { Gate } from './arrival.ts';
import type { Endpoints } from '../requests/endpoints.ts';
import { DuplexClient, type DuplexOptions } from '../duplex/duplex-client.ts';

export interface Guest {
  /** Handles one serialised message of the client. */
  receive(message: string): void;
  /** Ends the client and its session. */
  end(): Promise<void>;
}

export interface GuestOptions {
  /** The request with the client's credentials and address. */
  readonly request: IncomingMessage;
  readonly endpoint: EndpointName;
  /** Receives one serialised message for the client. */
  readonly write: (text: string) => void;
  /** Called when the gateway ends the connection, or the credentials are no longer valid. */
  readonly ended: () => void;
}

interface GuestParts extends Pick<DuplexOptions, 'bus' | 'delivery' | 'meter'> {
  readonly gate: Gate;
  readonly endpoints: Endpoints;
}

/** Connects a guest as the caller that its request authenticates. @returns the fault if it is refused. */
export async function connectGuest(
  parts: GuestParts,
  options: GuestOptions,
): Promise<Guest | { readonly fault: GatewayFault }> {
  const { request, endpoint } = options;
  const { callers, boundary } = parts.gate;
  try {
    const verdict = await callers.admit(request, `/mcp${endpoint === '' ? '' : `/${endpoint}`}`, endpoint);
    if (request.socket.destroyed) return { fault: fault('request.cancelled') };
    return 'fault' in verdict ? verdict : enter(parts, options, verdict);
  } catch (error) {
    return new Promise((resolve) => boundary.failed((gatewayFault) => resolve({ fault: gatewayFault }), error));
  }
}

function enter(
  { bus, delivery, meter, gate, endpoints }: GuestParts,
  { request, endpoint, write, ended }: GuestOptions,
  sender: Sender,
): Guest | { readonly fault: GatewayFault } {
  if (!endpoints.has(endpoint) || !endpoints.isFor(endpoint, sender.tenant))
    return { fault: fault('http.path_unknown') };
  const { boundary, rate, limits, callers } = gate;
  const client = new DuplexClient({
    bus,
    delivery,
    limits,
    meter,
    boundary,
    rate,
    bodies: undefined,
    caller: sender.caller,
    address: callers.addresses.of(request),
    carrier: 'pipe',
    write,
    ended,
  });
  const stopFollowing = sender.follow((caller, hasOtherRights) => client.proves(caller, hasOtherRights), ended);
  return {
    receive: (message) => client.receiveBytes(Buffer.from(message)),
    end() {
      stopFollowing?.();
      return client.end();
    },
  };
}
