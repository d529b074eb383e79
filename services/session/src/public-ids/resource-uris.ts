/** The places of a result or error where a server names resources: protocol digest of `resources` and tool or prompt content. */
import { isObject, type ExchangeMethod, type JsonObject, type JsonRpcErrorObject } from '@omnibus/protocol';

type MapUri = (uri: string) => string;

const none: readonly string[] = [];

/** Maps every resource URI in a result. Links inside resource contents and texts are data, and stay. */
export function mapResultUris(method: ExchangeMethod, result: JsonObject, mapUri: MapUri): JsonObject {
  switch (method) {
    case 'tools/call':
    case 'tasks/result':
      return Array.isArray(result['content'])
        ? { ...result, content: result['content'].map((block) => mapBlock(block, mapUri)) }
        : result;
    case 'prompts/get':
      return Array.isArray(result['messages'])
        ? {
            ...result,
            messages: result['messages'].map((message) =>
              isObject(message) ? { ...message, content: mapBlock(message['content'], mapUri) } : (message as unknown),
            ),
          }
        : result;
    case 'resources/read':
      return Array.isArray(result['contents'])
        ? { ...result, contents: result['contents'].map((content) => mapUriField(content, mapUri)) }
        : result;
    default:
      return result;
  }
}

export function mapErrorUri(error: JsonRpcErrorObject, mapUri: MapUri): JsonRpcErrorObject {
  return isObject(error.data) && typeof error.data['uri'] === 'string'
    ? { ...error, data: mapUriField(error.data, mapUri) }
    : error;
}

/** URIs that a tool's result links to; the client may read them next although no list has them. */
export function linkedUris({ content }: JsonObject): readonly string[] {
  if (!Array.isArray(content)) return none;
  let uris: string[] | undefined;
  for (const block of content as readonly unknown[]) {
    if (!isObject(block)) continue;
    const { type } = block;
    const named = type === 'resource' ? block['resource'] : type === 'resource_link' ? block : undefined;
    if (isObject(named) && typeof named['uri'] === 'string') (uris ??= []).push(named['uri']);
  }
  return uris ?? none;
}

function mapBlock(block: unknown, mapUri: MapUri): unknown {
  if (!isObject(block)) return block;
  if (block['type'] === 'resource_link') return mapUriField(block, mapUri);
  if (block['type'] === 'resource') return { ...block, resource: mapUriField(block['resource'], mapUri) };
  return block;
}

function mapUriField(value: unknown, mapUri: MapUri): unknown {
  return isObject(value) && typeof value['uri'] === 'string' ? { ...value, uri: mapUri(value['uri']) } : value;
}
