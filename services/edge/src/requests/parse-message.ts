import {
  classify,
  errorText,
  fault,
  isObject,
  parseJson,
  readJson,
  toErrorObject,
  type GatewayFault,
  type JsonObject,
  type JsonRpcId,
  type Limits,
  type PostedMessage,
} from '@omnibus/protocol';

export type ParsedBody =
  | { readonly kind: 'single'; readonly message: PostedMessage }
  /** `refusals` answer entries that are not valid messages, or not allowed in a batch. */
  | {
      readonly kind: 'batch';
      readonly messages: readonly PostedMessage[];
      readonly refusals?: readonly string[] | undefined;
    }
  /** `id` is that of the message, where it could be read. */
  | { readonly kind: 'refused'; readonly fault: GatewayFault; readonly id: JsonRpcId | undefined };

/** Parses a JSON-RPC message or batch: -32700 for invalid JSON, -32600 for JSON that is no message. */
export function parseMessage(body: Uint8Array | string, limits: Limits): ParsedBody {
  const read = readJson(body, limits.maxBodyBytes, limits);
  if (read.kind === 'refused') return refuse(fault(read.reason, read.problem));
  if (Array.isArray(read.value)) return parseBatch(read.value, limits);
  const { value } = read;
  const classified = classify(isObject(value) && value['params'] === null ? withoutParams(value) : value);
  if (classified.kind === 'invalid') return refuse(fault('message.invalid', classified.problem), classified.id);
  return { kind: 'single', message: classified };
}

/**
 * A batch is answered entry by entry (JSON-RPC 2.0 section 6; 2025-03-26 basic, Batching), and an entry with an unreadable id under
 * `null` (section 5): the revisions that leave the id out have no batches.
 */
function parseBatch(values: readonly unknown[], limits: Limits): ParsedBody {
  if (values.length === 0 || values.length > limits.maxBatchLength) {
    return refuse(fault('batch.invalid', `a batch has 1 to ${limits.maxBatchLength} messages, not ${values.length}`));
  }
  const messages: PostedMessage[] = [];
  const refusals: string[] = [];
  for (const value of values) {
    const classified = classify(isObject(value) && value['params'] === null ? withoutParams(value) : value);
    if (classified.kind === 'invalid')
      refusals.push(errorText(classified.id ?? null, toErrorObject(fault('message.invalid', classified.problem))));
    else if (classified.kind === 'request' && classified.message.method === 'initialize')
      refusals.push(
        errorText(classified.message.id, toErrorObject(fault('batch.invalid', 'initialize cannot be in a batch'))),
      );
    else messages.push(classified);
  }
  return { kind: 'batch', messages, refusals };
}

/** The ids under which a batch can be answered when it is refused as a whole, those of refused entries included. */
export function idsIn({ messages, refusals = [] }: Extract<ParsedBody, { kind: 'batch' }>): JsonRpcId[] {
  const asked = messages.flatMap((message) => (message.kind === 'request' ? [message.message.id] : []));
  const refused = refusals
    .map((refusal) => (parseJson(refusal) as { readonly id: JsonRpcId | null }).id)
    .filter((id) => id !== null);
  return [...asked, ...refused];
}

/** Params that are null are absent: some libraries write members that are not set so, and servers on the SDKs of Python, Go and Rust read it so. */
function withoutParams({ params: _null, ...message }: JsonObject): JsonObject {
  return message;
}

function refuse(gatewayFault: GatewayFault, id?: JsonRpcId): ParsedBody {
  return { kind: 'refused', fault: gatewayFault, id };
}
