import type { Doubter } from './open-requests.ts';

/** What carrying requests of one client tells and asks its owner. */
export interface ForwardingHooks extends Doubter {
  /** No request is open any more. */
  readonly idle: () => void;
  /** The state that servers keep for the client has changed. */
  readonly keptChanged: () => void;
}
