/** Keeps tokens of callers at an edge, for servers that are called with tokens made from them. */
import type { Exchange } from '@omnibus/connect';
import type { Part } from '../part.ts';
import { ownAuthorization, servesClients } from './authorization.ts';
import { blocking } from './blocks.ts';
import { connectedBus } from './bus.ts';

export const tokenExchange: Part<Exchange> = {
  name: 'the exchange of tokens',
  isIn: servesClients,
  async start(host) {
    const { openExchange } = await import('@omnibus/connect/exchange');
    const { config, metrics } = host;
    const exchange = openExchange({
      config,
      metrics,
      bus: host.of(connectedBus),
      log: host.log.child({ role: 'edge' }),
      authorization: host.of(ownAuthorization),
      blocks: host.of(blocking),
    });
    return { offers: exchange, prepare: (changed) => () => exchange.apply(changed), stop: () => exchange.stop() };
  },
};
