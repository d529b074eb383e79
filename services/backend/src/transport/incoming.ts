/**
 * Checks everything that a server sends, whatever carried it: size, UTF-8, JSON, nesting, and number of messages. The shape of a message is checked later
 * (`classify` in `connection/inbound.ts`).
 */
import {
  isJsonRpcId,
  isObject,
  leastWireBytes,
  readAnswer,
  readJson,
  type JsonRpcId,
  type Limits,
  type RepairCounts,
} from '@omnibus/protocol';
import { mended, ownId } from './mending.ts';
import type { UnusableQuestion } from './transport.ts';

export interface MessageLimits extends Pick<
  Limits,
  'maxUpstreamMessageBytes' | 'maxJsonDepth' | 'maxJsonValues' | 'maxBatchLength'
> {
  /** Counts repairs of the server's messages; left out if there are none. */
  readonly repairs?: RepairCounts | undefined;
}

/**
 * `id` of the request that a bad message was to answer; `null` when it certainly answers none, since it is a request (`question`) or notification itself.
 * `isAnswer`: it is an answer, and its id cannot be read.
 */
export type Incoming = { readonly value: unknown } | ({ readonly problem: string } & Whose);

interface Whose {
  readonly id: JsonRpcId | null | undefined;
  readonly question?: UnusableQuestion;
  readonly isAnswer?: boolean;
}

export function readIncoming(input: Buffer | string, limits: MessageLimits): Incoming {
  if (input.length >= leastWireBytes && input.length <= limits.maxUpstreamMessageBytes) {
    const answer = readAnswer([typeof input === 'string' ? Buffer.from(input) : input], limits);
    if (answer !== undefined) return { value: answer };
  }
  const read = readJson(input, limits.maxUpstreamMessageBytes, limits);
  if (read.kind === 'refused') {
    const found = whose(typeof input === 'string' ? input : input.toString('latin1'));
    const { id } = found;
    const isOwn = limits.repairs !== undefined && typeof id === 'string' && ownId.test(id);
    const problem = `what it sent cannot be read: ${read.problem}`;
    return { ...found, problem, id: isOwn && found.question === undefined ? Number(id) : id };
  }
  const { value } = read;
  if (Array.isArray(value) && value.length > limits.maxBatchLength)
    return { problem: `it sent ${value.length} messages at once; ${limits.maxBatchLength} are allowed`, id: undefined };
  // A result under a number is what nearly every answer is.
  const isPlain =
    limits.repairs === undefined ||
    (isObject(value) &&
      typeof value['id'] === 'number' &&
      !('method' in value) &&
      !('error' in value) &&
      !Array.isArray(value['result']));
  return { value: isPlain ? value : mended(value, limits.repairs) };
}

/**
 * Finds the id of the request that an unreadable text was to answer, or the request that it was itself, so that the waiting side gets an error at once.
 * Looks only at the members of the outermost object, and stops at the first broken one.
 */
function whose(text: string): Whose {
  let at = 0;
  let id: JsonRpcId | undefined;
  let isQuestion = false;
  let isAnswer = false;
  const found = (): Whose => {
    if (isQuestion) return { id: null, question: { id, reason: 'message.not_json' } };
    return isAnswer && id === undefined ? { id, isAnswer } : { id };
  };
  const skipSpace = (): void => {
    while (at < text.length && ' \t\r\n'.includes(text[at] as string)) at += 1;
  };
  skipSpace();
  if (text[at] !== '{') return found();
  at += 1;
  for (;;) {
    skipSpace();
    const key = readToken(text, at);
    at += key.length;
    skipSpace();
    if (!key.startsWith('"') || text[at] !== ':') return found();
    at += 1;
    skipSpace();
    if (key === '"method"') isQuestion = true;
    if (key === '"result"' || key === '"error"') isAnswer = true;
    if (key === '"id"') id = readId(readToken(text, at));
    at = endOfValue(text, at);
    skipSpace();
    if (text[at] !== ',') return found();
    at += 1;
  }
}

const maxIdLength = 200;

/** A string with its quotes, or a number, at a given position. */
function readToken(text: string, at: number): string {
  const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/y;
  return token.exec(text.slice(at, at + maxIdLength))?.[0] ?? '';
}

function readId(token: string): JsonRpcId | undefined {
  try {
    const id: unknown = JSON.parse(token);
    return isJsonRpcId(id) ? id : undefined;
  } catch {
    return undefined; // The text is broken there already.
  }
}

/** @returns the position where the value ends that begins at `start`. Brackets are counted, so any depth is safe. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      at += 1;
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']' || character === ',') {
      if (depth === 0) return at;
      if (character !== ',') depth -= 1;
    }
  }
  return text.length;
}
