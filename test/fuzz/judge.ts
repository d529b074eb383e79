/** Checks the answers of the gateway: a result, a server's own error unchanged, or an error of the gateway's table. */
import { errorTable, isJsonRpcId, isObject, parseJson } from '@omnibus/protocol';

const table: Readonly<Record<string, { readonly code: number }>> = errorTable;

/** Number of answers by kind, which shows that a run reached all of them. */
export const answered = new Map<string, number>();

/** @returns the problem of one message of the gateway, or undefined. */
export function wrongWith(message: unknown): string | undefined {
  const kind = kindOf(message);
  answered.set(kind, (answered.get(kind) ?? 0) + 1);
  return problemOf(message);
}

function kindOf(message: unknown): string {
  if (!isObject(message)) return 'nothing';
  if ('result' in message) return 'result';
  if (!isObject(message['error'])) return String(message['method']);
  const { data } = message['error'];
  return isObject(data) && typeof data['reason'] === 'string' ? data['reason'] : 'own error';
}

function problemOf(message: unknown): string | undefined {
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return 'it is no JSON-RPC message';
  if (typeof message['method'] === 'string')
    return 'error' in message || 'result' in message ? 'it is a request and an answer' : undefined;
  if ('id' in message && !isJsonRpcId(message['id']) && !isOfUnreadable(message)) return 'its id is none';
  if (isObject(message['result']) && !('error' in message)) return 'id' in message ? undefined : 'a result has no id';
  const { error } = message;
  if (!isObject(error) || !Number.isInteger(error['code']) || typeof error['message'] !== 'string')
    return 'it is neither a result nor an error';
  const reason = isObject(error['data']) ? error['data']['reason'] : undefined;
  if (typeof reason !== 'string' || !Object.hasOwn(table, reason))
    return isOfServer(error['code'] as number, error['data']) ? undefined : 'its error is not in the table';
  if (reason === 'internal.error') return 'the gateway met a bug of its own';
  return table[reason]?.code === error['code'] ? undefined : `its code is not that of ${reason}`;
}

/** Before 2025-11-25, which a mutated `initialize` may request, an error about an unreadable message has the id null (JSON-RPC 2.0, section 5). */
function isOfUnreadable({ id, error }: Readonly<Record<string, unknown>>): boolean {
  return id === null && isObject(error) && (error['code'] === -32_600 || error['code'] === -32_700);
}

/** Servers of this suite mark their own errors; after a mutation, the code or the data may be changed. */
export const ownError = { code: -32_050, message: 'the server itself refuses', data: { own: true } } as const;

function isOfServer(code: number, data: unknown): boolean {
  return code === ownError.code || (isObject(data) && data['own'] === true) || hostile.isMutating;
}

/** A server that mutates its errors may put anything into them, and it is passed on. */
export const hostile = { isMutating: false };

/** All messages in an HTTP answer or in frames; text that is not JSON is a wrong message. */
export function parseAll(texts: readonly string[]): unknown[] {
  return texts.flatMap((text) => {
    try {
      const value = parseJson(text);
      return Array.isArray(value) ? (value as unknown[]) : [value];
    } catch {
      return [undefined];
    }
  });
}
