/** Whether callers may reach servers at all, whatever they ask there. */
import type { Facts, GatewayFault, ServerName } from '@omnibus/protocol';

export interface Barrier {
  /** Why a caller is refused altogether; undefined if it is not. */
  callerProblem(facts: Facts | undefined): GatewayFault | undefined;
  /**
   * Why a caller may not reach a server by any request; undefined if it may.
   * @param tool by the server's own name; undefined for anything else.
   * @param isBegun whether it belongs to something that runs there already, which a pause of the server leaves alone.
   */
  problemOf(
    facts: Facts | undefined,
    server: ServerName,
    tool: string | undefined,
    isBegun?: boolean,
  ): GatewayFault | undefined;
}

/** Lets every caller reach every server. */
export const noBarrier: Barrier = { callerProblem: () => undefined, problemOf: () => undefined };
