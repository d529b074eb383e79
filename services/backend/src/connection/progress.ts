/** Reads the progress of a request, which is the same in all revisions (basic/utilities/progress). */
import { isObject, numberOf, withoutHopMeta, type JsonNumber, type JsonObject } from '@omnibus/protocol';

export interface Progress {
  readonly token: unknown;
  readonly progress: JsonNumber;
  readonly total?: JsonNumber;
  readonly message?: string;
  /** Members other than these. */
  readonly more?: JsonObject;
}

/** Undefined when the parameters are not those of `notifications/progress`. */
export function readProgress(params: JsonObject | undefined): Progress | undefined {
  if (!isObject(params) || numberOf(params['progress']) === undefined) return undefined;
  const { progressToken: token, progress, total, message, ...others } = params;
  const more = withoutHopMeta(others);
  return {
    token,
    progress: progress as JsonNumber,
    ...(numberOf(total) === undefined ? {} : { total: total as JsonNumber }),
    ...(typeof message === 'string' ? { message } : {}),
    ...(Object.keys(more).length === 0 ? {} : { more }),
  };
}
