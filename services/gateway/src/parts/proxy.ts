/** Sends requests of the process through the proxy of the configuration. */
import type { Part } from '../part.ts';
import { proxyFetches } from '../proxied-fetches.ts';

export const proxy: Part = {
  name: 'the proxy',
  isIn: ({ config }) => config.proxy !== undefined,
  start: async ({ config }) => ({ offers: await proxyFetches(config.proxy) }),
};
