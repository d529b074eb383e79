/** What sees the refusals and losses of an edge and changes nothing, such as the audit. Members that a watcher leaves out are not called. */
import type { Caller, EndpointName, GatewayFault, InboxPost, JsonRpcRequest, SessionKey } from '@omnibus/protocol';

export interface EdgeWatcher {
  /** A request was not authenticated, or not sufficiently. @param address key of the address of its client. */
  refused?(address: string, endpoint: EndpointName, gatewayFault: GatewayFault): void;
  /** A message was posted to the stream of HTTP+SSE of another caller, or by a caller that no edge has proven. */
  turnedAway?(post: InboxPost, session: SessionKey, gatewayFault: GatewayFault): void;
  /** The worker of requests is gone, so it is not known whether they were executed. */
  lost?(
    caller: Caller,
    requests: readonly JsonRpcRequest[],
    of: { readonly session?: SessionKey; readonly trace?: string | undefined },
  ): void;
}
