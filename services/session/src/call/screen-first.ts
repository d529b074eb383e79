/** Holds a request until its guardrails have decided. Without an external check it continues at once; else it is open meanwhile, and may be cancelled. */
import type { JsonObject } from '@omnibus/protocol';
import type { CallStream, ForwardedCall } from './client-port.ts';
import { WaitingRequest, type OpenRequests } from './open-requests.ts';
import type { CallScreen, Screened } from './transform.ts';

/** @param then hears what became of the parameters, unless the request ended before, and whether that took time. */
export function screenFirst(
  open: OpenRequests,
  call: Pick<ForwardedCall<CallStream>, 'id' | 'stream'>,
  screen: CallScreen,
  params: JsonObject,
  then: (made: Screened, hasWaited: boolean) => void,
): void {
  let waiting: WaitingRequest | undefined;
  let isAnswered = false;
  screen.request(params, (made) => {
    isAnswered = true;
    if (waiting === undefined) then(made, false);
    else open.resume(waiting, () => then(made, true));
  });
  if (isAnswered) return;
  waiting = new WaitingRequest(
    call,
    () => call.stream.leaveUnanswered(),
    (gatewayFault) => call.stream.refuse(call.id, gatewayFault),
  );
  open.add(waiting);
}
