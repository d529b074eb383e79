import type { GatewayFault } from '@omnibus/protocol';

/** Knows whether this worker still has the client. */
export interface Doubter {
  /**
   * Whether this worker may have lost the client: others take over the sessions of a worker that was cut off.
   * @returns undefined if it certainly still has the client; else resolves with the fault that ends a waiting request, or with undefined if the worker
   * still has the client.
   */
  doubt(): Promise<GatewayFault | undefined> | undefined;
}

/** What carrying requests of one client tells and asks its owner. */
export interface ForwardingHooks extends Doubter {
  /** Called when no request is open any more; left out if nothing outlives the requests. */
  idle?(): void;
}
