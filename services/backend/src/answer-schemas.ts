/** What a client's answer to a server's question has to be, as a schema: as far as every revision has it, and by what was asked. */
import { isObject, type JsonObject, type QuestionMethod } from '@omnibus/protocol';

const text = { type: 'string' };
const samplingResult: JsonObject = { type: 'object', required: ['role', 'content', 'model'], properties: { role: { enum: ['user', 'assistant'] }, model: text, content: { type: ['object', 'array'] } } };
/** Of one block: what it needs of its kind. A kind that is not known here is left alone. */
const block = (required: readonly string[], properties: JsonObject): JsonObject => ({ properties: { content: { type: 'object', required: ['type', ...required], properties: { type: text, ...properties } } } });
const anyBlock = block([], {});
const media = block(['data', 'mimeType'], { data: text, mimeType: text });
const blocks = new Map([['text', block(['text'], { text })], ['image', media], ['audio', media]]);
const noTool = block(['id', 'name', 'input'], { name: false });

/** @param tools those that were given with the question. */
function blockSchema(kind: unknown, tools: unknown): JsonObject {
  if (kind !== 'tool_use') return blocks.get(kind as string) ?? anyBlock;
  const names = Array.isArray(tools) ? tools.filter(isObject).map(({ name }) => name) : [];
  return names.length === 0 ? noTool : block(['id', 'name', 'input'], { id: text, name: { enum: names }, input: { type: 'object' } });
}

const rootsResult: JsonObject = { type: 'object', required: ['roots'], properties: { roots: { type: 'array', items: { type: 'object', required: ['uri'], properties: { uri: text } } } } };
const elicitResult: JsonObject = { type: 'object', required: ['action'], properties: { action: { enum: ['accept', 'decline', 'cancel'] } } };

/** @returns the schemas, and the part of the answer each is for; the first that something does not fit counts. */
export function answerSchemas(method: QuestionMethod, params: JsonObject, result: JsonObject): readonly { readonly schema: JsonObject; readonly value: unknown }[] {
  switch (method) {
    case 'sampling/createMessage': {
      const { content } = result;
      const given: readonly unknown[] = Array.isArray(content) ? content : [content];
      return [{ schema: samplingResult, value: result }, ...given.map((each) => ({ schema: blockSchema(isObject(each) ? each['type'] : undefined, params['tools']), value: { content: each } }))];
    }
    case 'roots/list':
      return [{ schema: rootsResult, value: result }];
    case 'elicitation/create': {
      const { requestedSchema } = params;
      // Only what the user has accepted has content.
      const form = isObject(requestedSchema) && result['action'] === 'accept' ? [{ schema: requestedSchema, value: result['content'] ?? {} }] : [];
      return [{ schema: elicitResult, value: result }, ...form];
    }
    default:
      return []; // Nobody but the server knows.
  }
}

/** What a prompt lists as its arguments, which are texts (server/prompts, PromptArgument). A prompt that lists none is not held to that. */
export function promptSchema(listed: unknown): JsonObject | undefined {
  if (!Array.isArray(listed)) return undefined;
  const named = listed.filter(isObject).filter(({ name }) => typeof name === 'string') as (JsonObject & { readonly name: string })[];
  return {
    type: 'object', additionalProperties: false,
    properties: Object.fromEntries(named.map(({ name }) => [name, text])),
    required: named.filter(({ required }) => required === true).map(({ name }) => name),
  };
}
