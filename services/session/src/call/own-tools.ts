/** Tools that the gateway itself has at an endpoint, beside those of servers. The path of a call knows this interface only; features have the tools. */
import type { View } from '@omnibus/catalog';
import type { JsonObject } from '@omnibus/protocol';
import type { CallStream } from './client-port.ts';
import type { OuterCall } from './outer-call.ts';

/** A call that makes calls of tools, which start where calls of clients start. It answers its stream, once. */
export interface OwnRun {
  readonly kind: 'run';
  begin<Stream extends CallStream>(outer: OuterCall<Stream>): void;
}

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
    }
  | OwnRun;

export interface OwnTools {
  /** @returns undefined where a server's tool is called. @param takesAnyOutput whether the client is shown outputs that are no objects as they are; otherwise they are inside one. */
  meant(view: View, params: JsonObject, takesAnyOutput: boolean): Meant | undefined;
}

/** The own tools of several features, whose names differ. */
export function ownToolsOf(all: readonly OwnTools[]): OwnTools {
  return {
    meant: (view, params, takesAnyOutput) => {
      for (const each of all) {
        const meant = each.meant(view, params, takesAnyOutput);
        if (meant !== undefined) return meant;
      }
      return undefined;
    },
  };
}
