/** A client of 2026-07-28 that sends exactly the test's messages: one request at a time, without state in between. */
import type { JsonObject } from '@omnibus/protocol';
import { RawClient, type Answer, type Message } from './raw-client.ts';

const prefix = 'io.modelcontextprotocol/';
const revision = '2026-07-28';

export class ModernClient {
  readonly #raw: RawClient;
  readonly #capabilities: JsonObject;
  #nextId = 0;

  /** @param headers sent with every request, such as `authorization`. */
  constructor(
    url: string,
    capabilities: JsonObject = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#raw = new RawClient(url, headers);
    this.#capabilities = capabilities;
  }

  /** The body and headers of one request. */
  compose(
    method: string,
    params: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ): { readonly body: JsonObject; readonly headers: Record<string, string> } {
    this.#nextId += 1;
    const name = params['name'] ?? params['uri'] ?? params['taskId'];
    const meta = {
      ...(params['_meta'] as JsonObject | undefined),
      [`${prefix}protocolVersion`]: revision,
      [`${prefix}clientCapabilities`]: this.#capabilities,
    };
    return {
      body: { jsonrpc: '2.0', id: this.#nextId, method, params: { ...params, _meta: meta } },
      headers: {
        'mcp-protocol-version': revision,
        'mcp-method': method,
        ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
        ...headers,
      },
    };
  }

  request(
    method: string,
    params: JsonObject = {},
    given: Readonly<Record<string, string>> = {},
    limit?: AbortSignal,
  ): Promise<Answer> {
    const { body, headers } = this.compose(method, params, given);
    return this.#raw.post(body, headers, limit);
  }

  call(name: string, more: JsonObject = {}): Promise<Answer> {
    return this.request('tools/call', { name, arguments: {}, ...more });
  }

  /** Sends a request, and passes each message of its answer on as it arrives. */
  stream(method: string, params: JsonObject, hear: (message: Message) => Promise<void>): Promise<number> {
    const { body, headers } = this.compose(method, params);
    return this.#raw.stream(body, hear, headers);
  }

  /** Breaks all its connections. */
  [Symbol.dispose](): void {
    this.#raw[Symbol.dispose]();
  }
}

/** The required input of a result, and the state for the next request. */
export function required({ last }: Answer): {
  readonly requests: Record<string, { readonly method: string; readonly params: JsonObject }>;
  readonly requestState: string;
} {
  const { resultType, inputRequests, requestState } = last.result ?? {};
  if (resultType !== 'input_required') throw new Error(`nothing is required: ${JSON.stringify(last)}`);
  return { requests: inputRequests as never, requestState: requestState as string };
}
