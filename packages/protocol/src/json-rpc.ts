/**
 * JSON-RPC 2.0 as MCP restricts it: ids are strings or integers and never null, and an error that belongs to no request has no id (2025-11-25 schema,
 * `JSONRPCErrorResponse`). Ids keep their JSON type: `1` is not `"1"`.
 */
import { isRawNumber, type RawNumber } from './exact-numbers.ts';
import { requestMethods } from './method-table.ts';

export type JsonRpcId = string | number | RawNumber;
export type JsonObject = { readonly [key: string]: unknown };

export interface JsonRpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface JsonRpcNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

export interface JsonRpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** `id` is missing only in an error that belongs to no known request. */
export interface JsonRpcResponse {
  readonly jsonrpc: '2.0';
  readonly id?: JsonRpcId;
  readonly result?: JsonObject;
  readonly error?: JsonRpcErrorObject;
}

export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse;

/** The probable kind of an invalid message, by the members it has; `either`: it has an id and no other telling member. */
type Meant = 'question' | 'answer' | 'either' | 'nothing';

/** The kind of a parsed JSON value. An invalid message keeps its id when that is valid, so that the answer can have it. */
export type Classified =
  | { readonly kind: 'request'; readonly message: JsonRpcRequest }
  | { readonly kind: 'notification'; readonly message: JsonRpcNotification }
  | { readonly kind: 'response'; readonly message: JsonRpcResponse }
  | { readonly kind: 'invalid'; readonly id: JsonRpcId | undefined; readonly problem: string; readonly meant: Meant };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The object that a text is in JSON; undefined for any other text, since the error of the engine would repeat a part of it. For messages: `readJson`. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isEmptyObject(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length === 0;
}

export function isEmptyList(value: unknown): value is readonly [] {
  return Array.isArray(value) && value.length === 0;
}

export function isJsonRpcId(value: unknown): value is JsonRpcId {
  return (
    typeof value === 'string' ||
    (typeof value === 'number' && Number.isInteger(value)) ||
    // JSON Schema counts `1.0` and `1e3` as integers (2020-12 validation, 6.1.1), however they are written.
    (isRawNumber(value) && (/^-?\d+$/.test(value.rawJSON) || Number.isInteger(Number(value.rawJSON))))
  );
}

/** A key for an id in maps: `1` is not `"1"`, and two parsed values of the same long integer have the same key. */
export function idKey(id: JsonRpcId): string | number {
  if (typeof id === 'object') return `#${id.rawJSON}`;
  return typeof id === 'string' ? `"${id}` : id;
}

/** Whether a value of any type is this id. */
export function isSameId(value: unknown, id: JsonRpcId): boolean {
  return (
    value === id ||
    (typeof id === 'object' && typeof value === 'object' && isJsonRpcId(value) && idKey(value) === idKey(id))
  );
}

/** Classifies a JSON value as a message (JSON-RPC 2.0 sections 4 and 5; MCP `basic`, Messages). */
// oxlint-disable-next-line complexity -- the rules of JSON-RPC 2.0 in their order, on the path of each message
export function classify(value: unknown): Classified {
  if (!isObject(value))
    return { kind: 'invalid', id: undefined, problem: 'a message must be a JSON object', meant: 'nothing' };
  const id = isJsonRpcId(value['id']) ? value['id'] : undefined;
  const invalid = (problem: string): Classified => ({ kind: 'invalid', id, problem, meant: meantBy(value) });
  if (value['jsonrpc'] !== '2.0') return invalid('"jsonrpc" must be "2.0"');
  if ('id' in value && id === undefined && !('error' in value && value['id'] === null)) {
    return invalid('"id" must be a string or an integer');
  }
  if ('method' in value) {
    if (typeof value['method'] !== 'string' || value['method'] === '')
      return invalid('"method" must be a non-empty string');
    if ('params' in value && !isObject(value['params'])) return invalid('"params" must be an object');
    if ('result' in value || 'error' in value)
      return invalid('a message has either a "method", or one of "result" and "error"');
    if (id !== undefined) return { kind: 'request', message: value as unknown as JsonRpcRequest };
    if (requestMethods.has(value['method'])) return invalid(`${value['method']} is a request and needs an "id"`);
    return { kind: 'notification', message: value as unknown as JsonRpcNotification };
  }
  if ('result' in value && !('error' in value)) {
    if (id === undefined) return invalid('a result needs the "id" of its request');
    if (!isObject(value['result'])) return invalid('"result" must be an object');
    return { kind: 'response', message: value as unknown as JsonRpcResponse };
  }
  if ('error' in value && !('result' in value)) {
    const error = value['error'];
    if (!isObject(error) || !Number.isInteger(error['code']) || typeof error['message'] !== 'string') {
      return invalid('"error" must have an integer "code" and a string "message"');
    }
    if (id === undefined) {
      const { id: _null, ...rest } = value;
      return { kind: 'response', message: rest as unknown as JsonRpcResponse };
    }
    return { kind: 'response', message: value as unknown as JsonRpcResponse };
  }
  return invalid('a message needs a "method", or exactly one of "result" and "error"');
}

function meantBy(value: JsonObject): Meant {
  if ('result' in value || 'error' in value) return 'answer';
  if ('method' in value) return 'question';
  return 'id' in value ? 'either' : 'nothing';
}

/** Serialises a result with a value that is JSON text already, such as a cached list. */
export function resultText(id: JsonRpcId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultJson}}`;
}

/** Serialises an error response; without an id the member is left out. `null` is for revisions that follow JSON-RPC itself (section 5). */
export function errorText(id: JsonRpcId | null | undefined, error: JsonRpcErrorObject): string {
  const idMember = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
  return `{"jsonrpc":"2.0",${idMember}"error":${JSON.stringify(error)}}`;
}

export function notificationText(method: string, params?: JsonObject): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params });
}
