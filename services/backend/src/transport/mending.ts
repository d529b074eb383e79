/**
 * Mistakes in whole messages of servers that can mean only one thing (the table `repairs`). What can mean two things stays as it is, and is refused with the
 * reason by `classify`. A message without such a mistake costs a few looks and is returned as it is.
 */
import { isUtf8 } from 'node:buffer';
import { stripVTControlCharacters } from 'node:util';
import {
  isEmptyList,
  isObject,
  isRawNumber,
  objectIn,
  printable,
  type JsonObject,
  type RepairCounts,
} from '@omnibus/protocol';

/** Ids that the gateway gives to its requests, as text: they are integers of which only one form exists. */
export const ownId = /^(0|[1-9]\d{0,15})$/;
/** Characters of a server's words that become the message of an error. */
const maxWords = 1_000;
const internalError = -32_603;

/** @param value one message, or a batch. */
export function mended(value: unknown, repairs: RepairCounts): unknown {
  if (!Array.isArray(value)) return mendedMessage(value, repairs);
  const messages = value as readonly unknown[];
  const read = messages.map((each) => mendedMessage(each, repairs));
  return read.some((each, index) => each !== messages[index]) ? read : value;
}

function mendedMessage(value: unknown, repairs: RepairCounts): unknown {
  if (!isObject(value)) return value;
  return 'method' in value ? mendedQuestion(value, repairs) : mendedAnswer(value, repairs);
}

function mendedQuestion(message: JsonObject, repairs: RepairCounts): JsonObject {
  const { params } = message;
  if (params === null || isEmptyList(params)) {
    repairs.note(params === null ? 'null-params' : 'empty-object', printable(String(message['method']), 100));
    const { params: _null, ...rest } = message;
    return rest;
  }
  if (message['method'] !== 'notifications/progress' || !isObject(params)) return message;
  const progressToken = numberIn('progressToken', params['progressToken'], repairs);
  return progressToken === undefined ? message : { ...message, params: { ...params, progressToken } };
}

/** The number that the gateway gave, where it comes back as text or in another form; undefined for any other value. */
function numberIn(name: string, value: unknown, repairs: RepairCounts): number | undefined {
  const text = isRawNumber(value) ? String(Number(value.rawJSON)) : value;
  if (typeof text !== 'string' || !ownId.test(text)) return undefined;
  repairs.note('text-id', `${name} ${isRawNumber(value) ? value.rawJSON : JSON.stringify(text)}`);
  return Number(text);
}

function mendedAnswer(message: JsonObject, repairs: RepairCounts): JsonObject {
  const id = numberIn('id', message['id'], repairs);
  let read = id === undefined ? message : { ...message, id };
  if (isEmptyList(read['result'])) {
    repairs.note('empty-object', 'result');
    read = { ...read, result: {} };
  }
  if (!('error' in read)) return read;
  const { error, result } = read;
  if (error === null && result !== undefined && result !== null) {
    repairs.note('null-answer', 'error');
    const { error: _null, ...rest } = read;
    return rest;
  }
  if (result === null && error !== null) {
    repairs.note('null-answer', 'result');
    const { result: _null, ...rest } = read;
    read = rest;
  }
  const plain = 'result' in read ? undefined : plainError(error);
  if (plain === undefined) return read;
  repairs.note(
    'plain-error',
    typeof error === 'string' ? 'an error that is a text' : 'the code or message of an error',
  );
  return { ...read, error: plain };
}

/** An error as JSON-RPC demands it (section 5.1), with the words of the server; undefined for one that is so already, or that has no words. */
function plainError(error: unknown): JsonObject | undefined {
  if (typeof error === 'string')
    return error === '' ? undefined : { code: internalError, message: printable(error, maxWords) };
  if (!isObject(error) || (Number.isInteger(error['code']) && typeof error['message'] === 'string')) return undefined;
  const { code, message } = error;
  const words = typeof message === 'string' && message !== '' ? message : JSON.stringify(error);
  if (words === '{}') return undefined;
  const isNumber = Number.isInteger(code) || (typeof code === 'string' && /^-?\d{1,9}$/.test(code));
  const name = isNumber || typeof code !== 'string' || words !== message ? '' : ` (${code})`;
  return { ...error, code: isNumber ? Number(code) : internalError, message: printable(`${words}${name}`, maxWords) };
}

/** Beginnings of a line at which a message may begin, and bytes that are searched for them. */
const maxBeginnings = 8;
const maxSearched = 4_096;
const onlyFromServers: ReadonlySet<unknown> = new Set(['notifications/progress', 'notifications/message']);

/**
 * Finds the message that follows other text on one line of stdout. It accepts only answers and two notifications: a request in the middle of a line may be
 * the log of one that the program has received.
 * @returns the text before it, and its bytes; undefined if there is none.
 */
export function messageAfterText(line: Buffer): { readonly text: string; readonly message: string } | undefined {
  let at = -1;
  for (let count = 0; count < maxBeginnings; count += 1) {
    at = line.indexOf('{"', at + 1);
    if (at < 0 || at > maxSearched) return undefined;
    if (!isUtf8(line.subarray(at))) continue;
    const message = stripVTControlCharacters(line.toString('utf8', at)).trim();
    if (isAnswer(message)) return { text: line.toString('latin1', 0, at), message };
  }
  return undefined;
}

function isAnswer(text: string): boolean {
  const value = objectIn(text);
  if (value?.['jsonrpc'] !== '2.0') return false;
  return 'method' in value ? onlyFromServers.has(value['method']) : 'result' in value || 'error' in value;
}
