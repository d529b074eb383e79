/** Shared by tests of transports. */
import type { TransportObserver } from './transport.ts';

const nothing = (): void => undefined;

/** Hears everything, and does nothing. */
export const silentTransport: TransportObserver = {
  message: nothing,
  requestFailed: nothing,
  takesAfterText: () => false,
  sessionGone: nothing,
  missed: nothing,
  lost: nothing,
  dropped: nothing,
};
