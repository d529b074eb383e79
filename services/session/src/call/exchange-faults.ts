/** What the gateway itself answers an exchange that its server did not answer. */
import { fault, printable, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { ExchangeRequest } from './exchange-request.ts';

/** It is about a task that one program alone had. */
export function taskLost(server: ServerName): GatewayFault {
  return fault('task.lost', `the task is lost: the part of the gateway that ran its program of server "${server}" is gone`, { server });
}

/** Whether the server carried it out is not known. @param cause what happened on the bus, where something did. */
export function interrupted(server: ServerName, cause?: string): GatewayFault {
  const text = cause === undefined ? `the part of the gateway that is connected to server "${server}" is gone` : `the request to server "${server}" was interrupted: ${cause}`;
  return fault('gateway.interrupted', text, { server });
}

export function unavailable(server: ServerName): GatewayFault {
  return fault('upstream.unavailable', `server "${server}" is not available: no part of the gateway is connected to it`, { server });
}

/** @param which limit has passed: the client's own, that in all, or that without a sign of progress. */
export function timedOut({ server, subject: [noun, name], limits: { callMs, maxMs, own } }: ExchangeRequest, which: 'own' | 'max' | 'call'): GatewayFault {
  const limitMs = which === 'own' && own !== undefined ? own.limitMs : which === 'max' ? maxMs : callMs;
  const limit = { own: ', which is the limit of this request', max: ' in all', call: ' of the last sign of progress' }[which];
  const text = `server "${server}" did not answer ${noun} ${JSON.stringify(printable(name, 200))} within ${limitMs / 1_000} s${limit}; it was told to stop`;
  return fault(which === 'own' ? 'request.timeout' : 'upstream.timeout', text, { server, limitMs });
}
