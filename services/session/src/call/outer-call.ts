/** A call of one of the gateway's own tools that itself makes calls of tools for the same client. */
import type { View } from '@omnibus/catalog';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';
import type { Carrier } from './carry.ts';
import type { CallStream } from './client-port.ts';

export interface OuterCall<Stream extends CallStream> {
  /** Carries the client's requests: it has the client, the worker's parts, and the open requests, among which the call must be until it is answered. */
  readonly carrier: Carrier<Stream>;
  readonly stream: Stream;
  readonly id: JsonRpcId;
  /** Parameters as the client sent them. */
  readonly params: JsonObject;
  /** The view of its client when it began. */
  readonly view: View;
}
