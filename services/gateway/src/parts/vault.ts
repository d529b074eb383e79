/** The vault of users' credentials, which opens with the first server at which users sign in themselves. */
import type { Part } from '../part.ts';
import type { Vaults } from '@omnibus/setup/vault';
import { connectedBus } from './bus.ts';

export interface LazyVaults {
  /** Undefined until a server needs them. */
  readonly opened: Vaults | undefined;
  /** @throws {Error} in words for the operator; a later call tries again. */
  readonly open: () => Promise<Vaults>;
}

export const vaults: Part<LazyVaults> = {
  name: 'the vault',
  isIn: (host) => host.has('backend'),
  start(host) {
    let opened: Vaults | undefined;
    let opening: Promise<Vaults> | undefined;
    const openNow = async (): Promise<Vaults> => {
      const { config, log, metrics, isForOne: usesKeychain } = host;
      const { baseFolder } = host.options;
      const library = await import('@omnibus/setup/vault');
      const bus = host.of(connectedBus);
      opened = await library.openVaults({ config, baseFolder, bus, log, metrics, usesKeychain });
      return opened;
    };
    return {
      offers: {
        get opened() {
          return opened;
        },
        open: () =>
          (opening ??= openNow().catch((error: unknown) => {
            opening = undefined;
            throw error;
          })),
      },
      stop: () => opened?.stop(),
    };
  },
};
