/** Bounds what the gateway's own tools answer from results of servers. The path of a call knows this interface only; a feature has the bounds. */
import type { JsonObject, SourceTool } from '@omnibus/protocol';
import type { ServedClient } from './transforms.ts';

export interface OwnResults {
  /**
   * @param name of the own tool.
   * @param from the tools whose results the answer may contain.
   * @returns undefined if the answer stays as it is. A promise never rejects.
   */
  bounded(
    client: ServedClient,
    name: string,
    from: readonly SourceTool[],
    result: JsonObject,
  ): Promise<JsonObject> | undefined;
}
