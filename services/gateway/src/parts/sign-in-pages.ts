/** The pages on which users sign in for servers (`connect/own-user.ts`). */
import { openPages, type Pages } from '@omnibus/connect';
import type { Part, PartHost } from '../part.ts';
import { connectedBus } from './bus.ts';

export const signInPages: Part<Pages> = {
  name: 'the pages of sign-ins',
  start(host) {
    const { config, log, options } = host;
    const served = options.isServing ? () => baseOf(host) : undefined;
    const pages = openPages({ config, bus: host.of(connectedBus), log, served });
    return { offers: pages, stop: () => pages.close() };
  },
};

/** Base URL of the gateway for browsers, by the configuration at the start: a change of these options needs a restart. */
export function baseOf({ options: { config }, addresses: { endpoint } }: PartHost): string {
  return config.publicUrl ?? (endpoint === undefined ? `http://${config.listen}` : new URL(endpoint).origin);
}
