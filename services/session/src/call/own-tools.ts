/** Tools that the gateway itself has at an endpoint, beside those of servers. The path of a call knows this interface only; a feature has the tools. */
import type { View } from '@omnibus/catalog';
import type { JsonObject } from '@omnibus/protocol';

/**
 * A call of an own tool.
 * `call`: a call of another tool in its place, which starts where calls of clients start.
 * `answer`: an answer from the view, like that to a request for a list.
 */
export type Meant =
  | { readonly kind: 'call'; readonly params: JsonObject }
  | {
      readonly kind: 'answer';
      /** Asked before `result`. @returns undefined if the answer can be made now; otherwise the request is served again once it resolves. */
      readonly ready: () => Promise<void> | undefined;
      readonly result: () => JsonObject;
    };

export interface OwnTools {
  /** @returns undefined where a server's tool is called. @param takesAnyOutput whether the client is shown outputs that are no objects as they are; otherwise they are inside one. */
  meant(view: View, params: JsonObject, takesAnyOutput: boolean): Meant | undefined;
}

/** There are none. */
export const noOwnTools: OwnTools = { meant: () => undefined };
