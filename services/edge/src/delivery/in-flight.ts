import type { PendingRequest } from '@omnibus/bus';
import type { Link, Ring } from '@omnibus/collections';

/**
 * Puts a request among those that are open and sends it.
 * @returns what takes it back.
 * @throws whatever `send` throws; then it is not open.
 */
export function track<InFlight extends Link & { readonly pending: PendingRequest | undefined }>(open: Ring<InFlight>, inFlight: InFlight, send: (inFlight: InFlight) => void): PendingRequest {
  open.add(inFlight);
  try {
    send(inFlight);
  } catch (error) {
    open.remove(inFlight);
    throw error;
  }
  return {
    close: () => {
      open.remove(inFlight);
      inFlight.pending?.close();
    },
  };
}
