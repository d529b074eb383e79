/** `omnibus serve` in the process of its caller, for tests that start many gateways. `npm test` bundles it beside the program; the package does not have it. */
import { ServedGateway, type ServedOptions, type Surroundings } from '@omnibus/cli/served';
import { startGateway } from './gateway.ts';

export interface ServedHere {
  /** `http://host:port/mcp`; undefined for a role without an edge. */
  readonly endpoint: string | undefined;
  /** `host:port` */
  readonly adminAddress: string | undefined;
  /** Resolves when all that this process has sent on the bus, or was sent before, has arrived. */
  arrived(): Promise<void>;
  /** Finishes running work and stops; what the gateway started ends. */
  stop(): Promise<void>;
}

/**
 * Starts a gateway, and resolves when all its servers are settled.
 * @throws {Error} with the problems in words for the operator, when it cannot start.
 */
export async function serveHere(
  options: Omit<ServedOptions, 'start'>,
  surroundings: Surroundings,
): Promise<ServedHere> {
  const served = await ServedGateway.prepare({ ...options, start: startGateway }, surroundings);
  if (!(served instanceof ServedGateway)) throw new Error(served.problems.join('\n'));
  const gateway = await served.start();
  try {
    await served.follow(gateway);
  } catch (error) {
    await served.stop();
    throw error;
  }
  return {
    endpoint: gateway.endpoint,
    adminAddress: gateway.adminAddress,
    arrived: async () => void (await gateway.bus.roundTrip()),
    stop: () => served.stop(),
  };
}
