/**
 * Converts messages of newer servers for older clients. Unknown members of an object do no harm to a client, but an unknown kind of content or schema
 * makes it reject the whole message, so these are replaced by kinds that it knows.
 */
import {
  errorResult,
  featuresOf,
  isObject,
  urlElicitationRequired,
  type ExchangeMethod,
  type InputMethod,
  type JsonObject,
  type JsonRpcErrorObject,
  type Revision,
} from '@omnibus/protocol';
import type { ServerAnswer } from '../dialect.ts';

type Block = JsonObject;

const internalError = -32_603;

/** Converts a result to the client's revision; for the newest one it is returned as it is. */
export function downLevelResult(method: ExchangeMethod, result: JsonObject, revision: Revision): JsonObject {
  const { audioContent, resourceLinks } = featuresOf(revision);
  if (audioContent && resourceLinks) return result;
  switch (method) {
    case 'tools/call':
    case 'tasks/result': {
      if (!Array.isArray(result['content'])) return result;
      const content = result['content'].map((block) => downLevelBlock(block, revision));
      // Before 2025-06-18 a client sees no structured content, so it gets the same as text.
      const isOnlyStructured =
        content.length === 0 && result['structuredContent'] !== undefined && !featuresOf(revision).resourceLinks;
      return { ...result, content: isOnlyStructured ? [text(JSON.stringify(result['structuredContent']))] : content };
    }
    case 'prompts/get':
      if (!Array.isArray(result['messages'])) return result;
      return {
        ...result,
        messages: result['messages'].map((message) =>
          isObject(message)
            ? { ...message, content: downLevelBlock(message['content'], revision) }
            : (message as unknown),
        ),
      };
    default:
      return result;
  }
}

/** Converts the error "URL elicitation required" (2025-11-25 client/elicitation), into text for an older client that does not know its code. */
export function downLevelError(method: ExchangeMethod, error: JsonRpcErrorObject, revision: Revision): ServerAnswer {
  if (error.code !== urlElicitationRequired || featuresOf(revision).richQuestions) return { kind: 'error', error };
  const elicitations =
    isObject(error.data) && Array.isArray(error.data['elicitations'])
      ? error.data['elicitations'].filter(isObject)
      : [];
  const told = [error.message, ...elicitations.map(({ message, url }) => `${String(message)}: ${String(url)}`)].join(
    '\n',
  );
  return method === 'tools/call'
    ? { kind: 'result', result: errorResult(told) }
    : { kind: 'error', error: { code: internalError, message: told } };
}

/** Converts the parameters of a server's question to the client's revision. @returns `problem` where that is not possible. */
export function downLevelQuestion(
  method: InputMethod,
  params: JsonObject,
  revision: Revision,
): { readonly params: JsonObject } | { readonly problem: string } {
  if (featuresOf(revision).richQuestions) return { params };
  switch (method) {
    case 'roots/list':
      return { params };
    case 'elicitation/create':
      return downLevelElicitation(params);
    case 'sampling/createMessage':
      return downLevelSampling(params);
  }
}

function downLevelBlock(block: unknown, revision: Revision): unknown {
  if (!isObject(block)) return block;
  const { audioContent, resourceLinks } = featuresOf(revision);
  if (block['type'] === 'audio' && !audioContent)
    return text(`[audio, ${String(block['mimeType'])}: not supported by this client]`);
  if (block['type'] === 'resource_link' && !resourceLinks) {
    const title = block['title'] ?? block['name'];
    const description = typeof block['description'] === 'string' ? `\n${block['description']}` : '';
    return text(`${typeof title === 'string' ? `${title}: ` : ''}${String(block['uri'])}${description}`);
  }
  return block;
}

/** 2025-06-18 has forms of simple fields: enumerations with `enumNames`, no lists, defaults for booleans only. */
function downLevelElicitation({
  mode,
  requestedSchema,
  ...params
}: JsonObject): { readonly params: JsonObject } | { readonly problem: string } {
  if (mode === 'url') return { problem: 'this client cannot be sent to a URL: its revision has forms only' };
  if (!isObject(requestedSchema) || !isObject(requestedSchema['properties']))
    return { params: { ...params, requestedSchema } };
  const properties: [string, unknown][] = [];
  for (const [name, field] of Object.entries(requestedSchema['properties'])) {
    if (!isObject(field)) return { problem: `the field ${name} is no schema` };
    if (field['type'] === 'array')
      return { problem: `the field ${name} takes several values, which this client's revision cannot ask for` };
    properties.push([name, downLevelField(field)]);
  }
  const { $schema: _schema, ...schema } = requestedSchema;
  return { params: { ...params, requestedSchema: { ...schema, properties: Object.fromEntries(properties) } } };
}

function downLevelField({ oneOf, default: preset, ...field }: JsonObject): JsonObject {
  const kept = typeof preset === 'boolean' ? { ...field, default: preset } : field;
  if (!Array.isArray(oneOf)) return kept;
  const choices = oneOf.filter(isObject);
  return {
    ...kept,
    enum: choices.map((choice) => choice['const']),
    enumNames: choices.map((choice) => choice['title'] ?? choice['const']),
  };
}

/** Before 2025-11-25 a message has one block, and there are no tools. */
function downLevelSampling(params: JsonObject): { readonly params: JsonObject } | { readonly problem: string } {
  if (params['tools'] !== undefined) return { problem: 'this client cannot sample with tools: its revision has none' };
  const { messages } = params;
  if (!Array.isArray(messages)) return { params };
  const single = messages.flatMap((message: unknown) => {
    if (!isObject(message) || !Array.isArray(message['content'])) return [message];
    return message['content'].map((content: unknown) => ({ ...message, content }));
  });
  const isKnown = (message: unknown): boolean =>
    !isObject(message) ||
    !isObject(message['content']) ||
    !['tool_use', 'tool_result'].includes(String(message['content']['type']));
  if (!single.every(isKnown))
    return { problem: 'this client cannot be shown the use of tools: its revision has none in messages' };
  return { params: { ...params, messages: single } };
}

function text(content: string): Block {
  return { type: 'text', text: content };
}
