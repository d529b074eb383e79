/**
 * The shapes that every revision demands of results of servers and of their questions (schemas 2024-11-05 to 2026-07-28: CallToolResult, GetPromptResult,
 * ReadResourceResult, CompleteResult, CreateMessageRequest, ElicitRequest). Members that no revision names are ignored. A problem names a member and the type that it
 * must be, and no value, since values may be secret.
 */
import { isInputMethod, isObject, numberOf, unread, type JsonObject, type MayBeUnread } from '@omnibus/protocol';

/** @returns the problem of a method's result; undefined if there is none, or no shape is known. */
export function resultProblem(method: string, result: JsonObject): string | undefined {
  const { resultType } = result;
  if (resultType === 'input_required') return roundProblem(result);
  // A task stands for a result that comes later (2025-11-25 basic/utilities/tasks, and the extension of tasks).
  if (resultType === 'task' || 'task' in result) return undefined;
  switch (method) {
    case 'tools/call':
    case 'tasks/result':
      return toolProblem(result);
    case 'prompts/get':
      return listProblem(result['messages'], 'messages', messageProblem);
    case 'resources/read':
      return listProblem(result['contents'], 'contents', contentsProblem);
    case 'completion/complete': {
      const { completion } = result;
      return isObject(completion)
        ? listProblem(completion['values'], 'completion.values', textProblem)
        : 'completion must be an object';
    }
    default:
      return undefined;
  }
}

/** @returns the problem of the parameters of a server's question; undefined if there is none, or no shape is known. */
export function questionProblem(method: string, params: JsonObject): string | undefined {
  if (method === 'sampling/createMessage')
    return numberOf(params['maxTokens']) === undefined
      ? 'maxTokens must be a number'
      : listProblem(params['messages'], 'messages', samplingMessageProblem);
  if (method !== 'elicitation/create') return undefined;
  const { message, mode = 'form', requestedSchema, url } = params;
  if (typeof message !== 'string') return 'message must be a string';
  if (mode === 'url') return typeof url === 'string' ? undefined : 'url must be a string';
  if (!isObject(requestedSchema)) return 'requestedSchema must be an object';
  return requestedSchema['type'] === 'object' && isObject(requestedSchema['properties'])
    ? undefined
    : 'requestedSchema must have "type": "object" and properties';
}

function roundProblem({ inputRequests }: JsonObject): string | undefined {
  if (inputRequests === undefined) return undefined;
  if (!isObject(inputRequests)) return 'inputRequests must be an object';
  for (const asked of Object.values(inputRequests)) {
    if (!isObject(asked) || !isInputMethod(asked['method']))
      return 'a question in inputRequests has no method that asks';
    const { method, params = {} } = asked;
    const problem = isObject(params) ? questionProblem(method, params) : 'params must be an object';
    if (problem !== undefined) return `${method} in inputRequests: ${problem}`;
  }
  return undefined;
}

function toolProblem({ content, isError, structuredContent, resultType }: JsonObject): string | undefined {
  if (isError !== undefined && typeof isError !== 'boolean') return 'isError must be true or false';
  // Since 2026-07-28 it may be any value.
  if (structuredContent !== undefined && resultType === undefined && !isObject(structuredContent))
    return 'structuredContent must be an object';
  if (!Array.isArray(content)) return 'content must be an array';
  for (let index = 0; index < content.length; index += 1) {
    const block: unknown = content[index];
    // Nearly every block is a text.
    if (
      isObject(block) &&
      block['type'] === 'text' &&
      ((block as MayBeUnread)[unread]?.get('text')?.kind ?? typeof block['text']) === 'string'
    )
      continue;
    const problem = blockProblem(block, `content[${index}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function listProblem(
  value: unknown,
  name: string,
  problemOf: (item: unknown, name: string) => string | undefined,
): string | undefined {
  if (!Array.isArray(value)) return `${name} must be an array`;
  for (let index = 0; index < value.length; index += 1) {
    const problem = problemOf(value[index], name);
    if (problem !== undefined) return problem.replace(name, `${name}[${index}]`);
  }
  return undefined;
}

// Names are built only for problems, since every result comes through here.
const textProblem = (value: unknown, name: string, member = ''): string | undefined =>
  typeof value === 'string' ? undefined : `${name}${member} must be a string`;

/** A large text is not read for that. */
const isText = (holder: JsonObject, member: string): boolean =>
  ((holder as MayBeUnread)[unread]?.get(member)?.kind ?? typeof holder[member]) === 'string';

const memberProblem = (holder: JsonObject, member: string, name: string): string | undefined =>
  isText(holder, member) ? undefined : `${name}.${member} must be a string`;

function messageProblem(message: unknown, name: string): string | undefined {
  if (!isObject(message)) return `${name} must be an object`;
  return message['role'] === 'user' || message['role'] === 'assistant'
    ? blockProblem(message['content'], name, '.content')
    : `${name}.role must be "user" or "assistant"`;
}

/** Since 2025-11-25 a message of sampling may have several blocks, uses of tools and their results among them. */
function samplingMessageProblem(message: unknown, name: string): string | undefined {
  if (!isObject(message) || !Array.isArray(message['content'])) return messageProblem(message, name);
  for (const content of message['content']) {
    const problem = messageProblem({ role: message['role'], content: content as unknown }, name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function blockProblem(block: unknown, list: string, member?: string): string | undefined {
  const name = member === undefined ? list : list + member;
  if (!isObject(block)) return `${name} must be an object`;
  switch (block['type']) {
    case 'text':
      return memberProblem(block, 'text', name);
    case 'image':
    case 'audio':
      return memberProblem(block, 'data', name) ?? memberProblem(block, 'mimeType', name);
    case 'resource':
      return contentsProblem(block['resource'], name, '.resource');
    case 'resource_link':
      return memberProblem(block, 'uri', name) ?? memberProblem(block, 'name', name);
    case 'tool_use':
      return memberProblem(block, 'id', name) ?? memberProblem(block, 'name', name);
    case 'tool_result':
      return memberProblem(block, 'toolUseId', name);
    default:
      return `${name}.type must be the name of a kind of content`;
  }
}

function contentsProblem(contents: unknown, list: string, member?: string): string | undefined {
  const name = member === undefined ? list : list + member;
  if (!isObject(contents)) return `${name} must be an object`;
  return (
    memberProblem(contents, 'uri', name) ??
    (isText(contents, 'text') || isText(contents, 'blob') ? undefined : `${name} must have a string "text" or "blob"`)
  );
}
