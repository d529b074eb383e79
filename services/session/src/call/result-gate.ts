/** Decides whether a client gets the result of a task with the state of the task, and hears how long it was. */
import type { Caller, GatewayFault, ServerName } from '@omnibus/protocol';
import type { CallFollower } from './client-port.ts';

export interface ResultGate {
  /**
   * @param tool the server's own name of the tool that the task runs.
   * @returns undefined where there is nothing to decide. A promise never rejects.
   */
  begin(
    caller: Caller,
    server: ServerName,
    tool: string,
  ): CallFollower | GatewayFault | undefined | Promise<CallFollower | GatewayFault>;
}
