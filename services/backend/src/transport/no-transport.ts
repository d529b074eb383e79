/** Stands in for the transport to a server with an unresolved reference in its configuration, so that nothing can be sent to it. */
import type { Transport } from './transport.ts';
import { Troubled } from './trouble.ts';

const nothing = (): void => undefined;

/** @param problem in the configuration, in words. */
export function noTransport(problem: string): Transport {
  return {
    needsNoProbe: false,
    closesToCancel: false,
    keepsOrder: false,
    takesNamelessErrors: false,
    hasState: false,
    open: () => Promise.reject(new Troubled('configuration', problem)),
    request: nothing,
    send: nothing,
    abandon: nothing,
    agreed: nothing,
    listen: nothing,
    close: () => Promise.resolve(),
  };
}
