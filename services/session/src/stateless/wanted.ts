/**
 * Whether the edge of a request still waits for it. An edge may have given the request up while this worker was cut off, without this worker being told. After
 * each interruption the edge asks which requests are here, and names none that it has dropped.
 */
import type { Bus } from '@omnibus/bus';
import type { GatewayFault } from '@omnibus/protocol';
import { draining } from './pending-reply.ts';

/**
 * The fault for a request that may be dropped; undefined for one that is wanted. An edge that still waits sends it to another worker, since it was not executed
 * with it.
 * @param wantedAt how often the bus had been interrupted when its edge sent the request, or last asked after it.
 */
export function doubtOf({ isShared, connected, reconnects }: Bus, wantedAt: number): GatewayFault | undefined {
  return isShared && (!connected || reconnects !== wantedAt) ? draining : undefined;
}
