/** Elicitations by URL (2025-11-25 client/elicitation): two servers may give the same id, and a client must tell them apart. */
import { isObject, type JsonObject, type JsonRpcErrorObject, type ServerName } from '@omnibus/protocol';

/** The parameters of a question or notification with the elicitation's public id. */
export function publicElicitation(server: ServerName, params: JsonObject): JsonObject {
  return typeof params['elicitationId'] === 'string' ? { ...params, elicitationId: `${server}:${params['elicitationId']}` } : params;
}

/** "URL elicitation required" with the public ids of what it requires. */
export function publicElicitations(server: ServerName, error: JsonRpcErrorObject): JsonRpcErrorObject {
  if (!isObject(error.data) || !Array.isArray(error.data['elicitations'])) return error;
  return { ...error, data: { ...error.data, elicitations: error.data['elicitations'].map((each: unknown) => (isObject(each) ? publicElicitation(server, each) : each)) } };
}
