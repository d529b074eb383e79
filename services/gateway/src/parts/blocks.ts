/** Blocks of callers and pauses of servers, which operators set; undefined if NATS refuses them. */
import type { Blocks } from '@omnibus/bus';
import { measurePauses } from '../measure.ts';
import { openBlocks } from '@omnibus/setup/bus';
import type { Part } from '../part.ts';
import { connectedBus } from './bus.ts';

export const blocking: Part<Blocks | undefined> = {
  name: 'the blocks',
  isIn: ({ options }) => options.isServing,
  async start(host) {
    const blocks = await openBlocks(host.of(connectedBus), host.log);
    if (blocks !== undefined) measurePauses(blocks, () => host.config, host.metrics);
    return { offers: blocks, stop: () => blocks?.close() };
  },
};
