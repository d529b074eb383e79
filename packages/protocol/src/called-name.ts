/** The name of the gateway's tool by which a client of a short list calls another tool. */
import { isObject, type JsonObject } from './json-rpc.ts';

export const callToolName = 'call_tool';

/**
 * The name that a request calls something by, for traces and reports of parts that do not know the lists of an endpoint: of a call through `call_tool`, the name of the
 * tool that it stands for.
 */
export function calledName(params: JsonObject | undefined): unknown {
  const name = params?.['name'];
  const given = params?.['arguments'];
  return name === callToolName && isObject(given) && typeof given['name'] === 'string' ? given['name'] : name;
}
