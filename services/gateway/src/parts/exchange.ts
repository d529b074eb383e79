/** Keeps tokens of callers at an edge, for servers that are called with tokens made from them. */
import type { Exchange } from '@omnibus/connect';
import type { Part } from '../part.ts';
import { ownAuthorization, servesClients } from './authorization.ts';
import { connectedBus } from './bus.ts';

export const tokenExchange: Part<Exchange> = {
  name: 'the exchange of tokens',
  isIn: servesClients,
  async start(host) {
    const { openExchange } = await import('@omnibus/connect/exchange');
    const { config, metrics } = host;
    const log = host.log.child({ role: 'edge' });
    const authorization = host.of(ownAuthorization);
    const exchange = openExchange({ config, bus: host.of(connectedBus), log, metrics, authorization });
    return { offers: exchange, prepare: (changed) => () => exchange.apply(changed), stop: () => exchange.stop() };
  },
};
