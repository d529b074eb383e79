/** The dialect of servers of 2026-07-28, in which every request stands alone. */
import { modernHeaders } from '@omnibus/protocol';
import type { ServerDialect } from '../dialect.ts';
import { newer } from '../leg.ts';
import { goesOn } from './going-on.ts';
import { modernParams } from './messages.ts';
import { StandingListen } from './standing-listen.ts';

export const modernDialect: ServerDialect = {
  renewsSession: false,
  sharing: newer,
  keepsLogLevel: false,
  // 2026-07-28 basic/transports
  hearsNotifications: false,
  refusesInBody: true,
  signOfLife: 'server/discover',
  request: (transport, id, { method, params, context }, progressToken, { introduction, toolSchema }) => {
    const schema = method === 'tools/call' ? toolSchema(String(params['name'])) : undefined;
    transport.request(
      { jsonrpc: '2.0', id, method, params: modernParams(params, context, progressToken, introduction) },
      modernHeaders(method, params, schema),
    );
  },
  cancel: (transport, id, reason) => {
    if (!transport.closesToCancel)
      transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } });
  },
  greet: () => Promise.resolve(),
  listen: (port, wheel, { capabilities }) => new StandingListen(port, wheel, capabilities),
  goesOn,
};
