import type { PendingRequest } from '@omnibus/bus';
import type { Link, Ring } from '@omnibus/collections';

/**
 * Puts a request among those that are open and sends it.
 * @returns what takes it back.
 * @throws whatever `send` throws; then it is not open.
 */
export function enter<Passage extends Link & { readonly pending: PendingRequest | undefined }>(open: Ring<Passage>, passage: Passage, send: (passage: Passage) => void): PendingRequest {
  open.add(passage);
  try {
    send(passage);
  } catch (error) {
    open.remove(passage);
    throw error;
  }
  return {
    close: () => {
      open.remove(passage);
      passage.pending?.close();
    },
  };
}
