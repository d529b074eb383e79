/** In the place of a transport to a server that nothing can be sent to, because its configuration leads nowhere. */
import type { Transport } from './transport.ts';

const nothing = (): void => undefined;

/** @param problem what is wrong with the configuration, in words. */
export function noTransport(problem: string): Transport {
  return {
    hasSessionsOnly: false, closesToCancel: false, takesNamelessErrors: false, hasState: false,
    open: () => Promise.reject(new Error(problem)),
    request: nothing, send: nothing, abandon: nothing, agreed: nothing, listen: nothing,
    close: () => Promise.resolve(),
  };
}
