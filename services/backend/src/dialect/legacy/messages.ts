/** Exchanges as a legacy server hears them, and what such a server says of its own accord. */
import { isObject, numberOf, withoutHopMeta, type JsonNumber, type JsonObject, type JsonRpcId, type LogLevel } from '@omnibus/protocol';

/** Parameters of a call with this hop's progress token. Tokens of other hops never come through. */
export function callParams(params: JsonObject, progressToken: number | undefined): JsonObject {
  if (progressToken === undefined) return params;
  return { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken } };
}

export function cancelledParams(requestId: JsonRpcId, reason: string): JsonObject {
  return { requestId, reason };
}

export function setLevelParams(level: LogLevel): JsonObject {
  return { level };
}

export interface Progress {
  readonly token: unknown;
  readonly progress: JsonNumber;
  readonly total?: JsonNumber;
  readonly message?: string;
  /** Members besides these. */
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
