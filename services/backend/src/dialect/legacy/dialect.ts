/** The dialect of servers of revisions up to 2025-11-25. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Transport } from '../../transport/transport.ts';
import type { Greeting, ServerDialect } from '../dialect.ts';
import { only } from '../leg.ts';
import type { JsonObject } from '@omnibus/protocol';

/** Pause after sending roots to a server: it reads the folders before it can use them, and does not report the end. */
const lookAroundMs = 250;

export const legacyDialect: ServerDialect = {
  renewsSession: true,
  sharing: only,
  keepsLogLevel: true,
  hearsNotifications: true,
  refusesInBody: false,
  signOfLife: 'ping',
  // Tokens of other hops are never passed on.
  request: (transport, id, { method, params }, progressToken) =>
    transport.request({
      jsonrpc: '2.0',
      id,
      method,
      params:
        progressToken === undefined
          ? params
          : { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken } },
    }),
  cancel: (transport, id, reason) =>
    transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } }),
  greet: async (greeting) => {
    const { transport, wheel, limitMs, isCurrent, capabilities } = greeting;
    await sayInitialized(transport, wheel, limitMs);
    if (!isCurrent()) return;
    transport.listen();
    if ('roots' in capabilities) await letLookAround(greeting);
  },
  listen: () => undefined,
};

/** Sends `notifications/initialized` and waits until the server has taken it, or its time is over: over HTTP requests overtake each other, and a server that has not taken it yet may show no lists. */
function sayInitialized(transport: Transport, wheel: DeadlineWheel, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const limit = wheel.schedule(limitMs, resolve);
    transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, () => {
      limit.cancel();
      resolve();
    });
  });
}

/**
 * Waits until the server has had the chance to ask for roots. Servers that use roots ask for them as soon as they are initialized, and some refuse
 * everything until they have them (the official filesystem server). Messages are read in order, so an immediate question of the server comes before its answer to
 * a ping.
 */
async function letLookAround({ ping, questions, wheel, limitMs }: Greeting): Promise<void> {
  await ping();
  if (!questions.wereAsked) return;
  await questions.quiet((run) => wheel.schedule(limitMs, run));
  await new Promise<void>((resolve) => {
    wheel.schedule(lookAroundMs, resolve);
  });
}
