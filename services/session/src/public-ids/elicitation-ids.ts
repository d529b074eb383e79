/** Public ids of elicitations by URL (2025-11-25 client/elicitation), unique although two servers may use the same id. */
import { isObject, type JsonObject, type JsonRpcErrorObject, type ServerName } from '@omnibus/protocol';

/** Replaces the elicitation id in the parameters of a question or notification by the public one. */
export function publicElicitation(server: ServerName, params: JsonObject): JsonObject {
  return typeof params['elicitationId'] === 'string'
    ? { ...params, elicitationId: `${server}:${params['elicitationId']}` }
    : params;
}

/** Replaces the elicitation ids in the error "URL elicitation required" by the public ones. */
export function publicElicitations(server: ServerName, error: JsonRpcErrorObject): JsonRpcErrorObject {
  if (!isObject(error.data) || !Array.isArray(error.data['elicitations'])) return error;
  return {
    ...error,
    data: {
      ...error.data,
      elicitations: error.data['elicitations'].map((each: unknown) =>
        isObject(each) ? publicElicitation(server, each) : each,
      ),
    },
  };
}
