/** Opens the callers of an edge: authenticated or anonymous. */
import type { Blocks } from '@omnibus/bus';
import { isOfThisMachine, type Config } from '@omnibus/config';
import type { Authenticator, Proofs } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { EdgeWatcher } from '../requests/edge-watcher.ts';
import { AnonymousCallers } from './anonymous-callers.ts';
import type { Callers } from './callers.ts';
import { ClientAddresses } from './client-address.ts';
import { KnownCallers } from './known-callers.ts';

export interface OpenCallersOptions {
  readonly config: Config;
  readonly wheel: DeadlineWheel;
  /** Undefined where callers are not authenticated. */
  readonly authenticator: Authenticator | undefined;
  /** Undefined where operators cannot block callers. */
  readonly blocks?: Blocks | undefined;
  /** Signs the facts about callers on the bus; undefined in a gateway of one process, where no other process is on it. */
  readonly proofs?: Proofs | undefined;
  readonly watcher?: EdgeWatcher | undefined;
}

export function openCallers({ authenticator, blocks, proofs, watcher, ...options }: OpenCallersOptions): Callers {
  const { listen, security } = options.config;
  const addresses = new ClientAddresses(security.trustedProxies, isOfThisMachine(listen));
  return authenticator === undefined
    ? new AnonymousCallers(options.config, addresses)
    : new KnownCallers({ ...options, addresses, authenticator, blocks, proofs, watcher });
}
