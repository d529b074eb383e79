/** Faults with which the gateway ends exchanges that their servers did not answer. */
import { fault, printable, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { ExchangeRequest } from './exchange-request.ts';

/** The task was in a program of one worker, and that worker is gone. */
export function taskLost(server: ServerName): GatewayFault {
  return fault(
    'task.lost',
    `the task is lost: the part of the gateway that ran its program of server "${server}" is gone`,
    { server },
  );
}

/** It is not known whether the server has executed the request. @param cause the error of the bus, where there was one. */
export function interrupted(server: ServerName, cause?: string): GatewayFault {
  const text =
    cause === undefined
      ? `the part of the gateway that is connected to server "${server}" is gone`
      : `the request to server "${server}" was interrupted: ${cause}`;
  return fault('gateway.interrupted', text, { server });
}

export function unavailable(server: ServerName): GatewayFault {
  return fault(
    'upstream.unavailable',
    `server "${server}" is not available: no part of the gateway is connected to it`,
    { server },
  );
}

/**
 * @param which limit has passed: the client's own, `maxTime` in all, or `timeout` without progress.
 * @param doubt unreadable output of the server meanwhile.
 */
export function timedOut(
  { server, subject: [noun, name], limits: { callMs, maxMs, own } }: ExchangeRequest,
  which: 'own' | 'max' | 'call',
  doubt?: string,
): GatewayFault {
  const limitMs = which === 'own' && own !== undefined ? own.limitMs : which === 'max' ? maxMs : callMs;
  const limit = { own: ', which is the limit of this request', max: ' in all', call: ' of the last sign of progress' }[
    which
  ];
  const why = doubt === undefined ? '' : `. Its answer may have been lost: ${doubt}`;
  const text = `server "${server}" did not answer ${noun} ${JSON.stringify(printable(name, 200))} within ${limitMs / 1_000} s${limit}; it was told to stop${why}`;
  return fault(which === 'own' ? 'request.timeout' : 'upstream.timeout', text, { server, limitMs });
}
