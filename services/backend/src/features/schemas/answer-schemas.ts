/** The schemas that a client's answer to a server's question must match: what every revision demands, and what this question asks for. */
import { hash } from 'node:crypto';
import {
  isInputMethod,
  isObject,
  type CallCommand,
  type InputMethod,
  type JsonObject,
  type QuestionMethod,
} from '@omnibus/protocol';

const text = { type: 'string' };
const samplingResult: JsonObject = {
  type: 'object',
  required: ['role', 'content', 'model'],
  properties: { role: { enum: ['user', 'assistant'] }, model: text, content: { type: ['object', 'array'] } },
};
/** The required members of a content block; blocks of unknown kinds are not checked. */
const block = (required: readonly string[], properties: JsonObject): JsonObject => ({
  properties: {
    content: { type: 'object', required: ['type', ...required], properties: { type: text, ...properties } },
  },
});
const anyBlock = block([], {});
const media = block(['data', 'mimeType'], { data: text, mimeType: text });
const blocks = new Map([
  ['text', block(['text'], { text })],
  ['image', media],
  ['audio', media],
]);
const noTool = block(['id', 'name', 'input'], { name: false });

/** @param tools given with the question. */
function blockSchema(kind: unknown, tools: unknown): JsonObject {
  if (kind !== 'tool_use') return blocks.get(kind as string) ?? anyBlock;
  const names = Array.isArray(tools) ? tools.filter(isObject).map(({ name }) => name) : [];
  return names.length === 0
    ? noTool
    : block(['id', 'name', 'input'], { id: text, name: { enum: names }, input: { type: 'object' } });
}

const rootsResult: JsonObject = {
  type: 'object',
  required: ['roots'],
  properties: { roots: { type: 'array', items: { type: 'object', required: ['uri'], properties: { uri: text } } } },
};
const elicitResult: JsonObject = {
  type: 'object',
  required: ['action'],
  properties: { action: { enum: ['accept', 'decline', 'cancel'] } },
};

/** @returns the schemas, each with the part of the answer that it is for; the first mismatch counts. */
export function answerSchemas(
  method: QuestionMethod,
  params: JsonObject,
  result: JsonObject,
): readonly { readonly schema: JsonObject; readonly value: unknown }[] {
  switch (method) {
    case 'sampling/createMessage': {
      const { content } = result;
      const given: readonly unknown[] = Array.isArray(content) ? content : [content];
      return [
        { schema: samplingResult, value: result },
        ...given.map((each) => ({
          schema: blockSchema(isObject(each) ? each['type'] : undefined, params['tools']),
          value: { content: each },
        })),
      ];
    }
    case 'roots/list':
      return [{ schema: rootsResult, value: result }];
    case 'elicitation/create': {
      const { requestedSchema } = params;
      // Only an accepted form has content.
      const form =
        isObject(requestedSchema) && result['action'] === 'accept'
          ? [{ schema: requestedSchema, value: result['content'] ?? {} }]
          : [];
      return [{ schema: elicitResult, value: result }, ...form];
    }
    default:
      return []; // Only the server knows.
  }
}

/** A schema of the arguments that a prompt lists, which are texts (server/prompts, PromptArgument). A prompt that lists none is not checked. */
export function promptSchema(listed: unknown): JsonObject | undefined {
  if (!Array.isArray(listed)) return undefined;
  const named = listed.filter(isObject).filter(({ name }) => typeof name === 'string') as (JsonObject & {
    readonly name: string;
  })[];
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(named.map(({ name }) => [name, text])),
    required: named.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

interface Wanted {
  readonly method: InputMethod;
  readonly params: JsonObject;
}

/** Bound on remembered questions, as JSON: about a thousand forms. The oldest are forgotten. */
const maxCharacters = 4_000_000;

/**
 * Remembers the questions of servers of 2026-07-28 to clients of that revision, so that the answers, which come with a later request, can be checked
 * (basic/patterns, Multi Round-Trip Requests, and the extension of tasks). Nothing else is stored of such a call: if the next request comes to another
 * adapter, its answers are passed on unchecked.
 */
export class WantedAnswers {
  readonly #kept = new Map<string, { readonly wanted: ReadonlyMap<string, Wanted>; readonly size: number }>();
  #size = 0;

  /** A server has answered with questions. */
  remember(command: CallCommand, { inputRequests, requestState }: JsonObject): void {
    if (!isObject(inputRequests)) return;
    const wanted = new Map<string, Wanted>();
    for (const [key, asked] of Object.entries(inputRequests)) {
      if (isObject(asked) && isInputMethod(asked['method']))
        wanted.set(key, {
          method: asked['method'],
          params: whatCounts(isObject(asked['params']) ? asked['params'] : {}),
        });
    }
    const key = keyOf(command, requestState);
    const size = key.length + JSON.stringify([...wanted]).length;
    this.#forget(key);
    this.#kept.set(key, { wanted, size });
    this.#size += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= maxCharacters) break;
      this.#forget(oldest);
    }
  }

  /** The answers in a request, each with its question. */
  *broughtBy(command: CallCommand): Generator<Wanted & { readonly key: string; readonly answer: JsonObject }> {
    const { inputResponses, requestState } = command.params;
    if (!isObject(inputResponses)) return;
    const wanted = this.#kept.get(keyOf(command, requestState))?.wanted;
    for (const [key, answer] of Object.entries(inputResponses)) {
      const asked = wanted?.get(key);
      if (asked !== undefined && isObject(answer)) yield { ...asked, key, answer };
    }
  }

  #forget(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }
}

/** The parts of a question that its answer is checked against. */
function whatCounts({ requestedSchema, tools }: JsonObject): JsonObject {
  return { ...(requestedSchema === undefined ? {} : { requestedSchema }), ...(tools === undefined ? {} : { tools }) };
}

/** The key of a set of questions: the server's state identifies them; without one, the caller and the request, or the task. */
function keyOf({ method, params, context: { principal, client } }: CallCommand, requestState: unknown): string {
  const { taskId, _meta, inputResponses: _responses, requestState: _state, ...asked } = params;
  const from =
    typeof requestState === 'string'
      ? [requestState]
      : typeof taskId === 'string'
        ? ['task', taskId]
        : [principal, client?.id, method, asked];
  return hash('sha256', JSON.stringify(from), 'base64url');
}
