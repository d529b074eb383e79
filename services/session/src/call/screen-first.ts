/** Holds a request until its guardrails have decided. Without an external check it continues at once; else it is open meanwhile, and may be cancelled. */
import type { JsonObject } from '@omnibus/protocol';
import type { CallStream, ForwardedCall } from './client-port.ts';
import { WaitingRequest, type OpenRequests } from './open-requests.ts';
import type { CallScreen, Screened } from './transform.ts';

/**
 * @param then hears what became of the parameters if that takes time, unless the request ends before.
 * @returns what became of them, if that is known at once.
 */
export function screenFirst(
  open: OpenRequests,
  call: Pick<ForwardedCall<CallStream>, 'id' | 'stream'>,
  screen: CallScreen,
  params: JsonObject,
  then: (made: Screened) => void,
): Screened | undefined {
  let waiting: WaitingRequest | undefined;
  let atOnce: Screened | undefined;
  screen.request(params, (made) => {
    if (waiting === undefined) atOnce = made;
    else open.resume(waiting, () => then(made));
  });
  if (atOnce !== undefined) return atOnce;
  waiting = new WaitingRequest(
    call,
    () => call.stream.leaveUnanswered(),
    (gatewayFault) => call.stream.refuse(call.id, gatewayFault),
  );
  open.add(waiting);
  return undefined;
}
