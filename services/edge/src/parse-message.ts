import { classify, fault, readJson, type GatewayFault, type JsonRpcId, type Limits, type PostedMessage } from '@omnibus/protocol';

export type ParsedBody =
  | { readonly kind: 'single'; readonly message: PostedMessage }
  | { readonly kind: 'batch'; readonly messages: readonly PostedMessage[] }
  /** `id` is echoed when that much of the message was sound. */
  | { readonly kind: 'refused'; readonly fault: GatewayFault; readonly id: JsonRpcId | undefined };

/** From bytes to JSON-RPC: -32700 for what is no JSON, -32600 for JSON that is no message. */
export function parseMessage(body: Uint8Array | string, limits: Limits): ParsedBody {
  const read = readJson(body, limits.maxBodyBytes, limits);
  if (read.kind === 'refused') return refuse(fault(read.reason, read.problem));
  return Array.isArray(read.value) ? parseBatch(read.value, limits) : parseSingle(read.value);
}

function parseSingle(value: unknown): ParsedBody {
  const classified = classify(value);
  if (classified.kind === 'invalid') return refuse(fault('message.invalid', classified.problem), classified.id);
  return { kind: 'single', message: classified };
}

/** A batch is taken whole or not at all, so that a refused one has executed nothing (2025-03-26 basic, Batching). */
function parseBatch(values: readonly unknown[], limits: Limits): ParsedBody {
  if (values.length === 0 || values.length > limits.maxBatchLength) {
    return refuse(fault('batch.invalid', `a batch has 1 to ${limits.maxBatchLength} messages, not ${values.length}`));
  }
  const messages: PostedMessage[] = [];
  for (const [index, value] of values.entries()) {
    const classified = classify(value);
    if (classified.kind === 'invalid') return refuse(fault('message.invalid', `message ${index} of the batch: ${classified.problem}`));
    if (classified.kind === 'request' && classified.message.method === 'initialize') return refuse(fault('batch.invalid', 'initialize cannot be in a batch'));
    messages.push(classified);
  }
  return { kind: 'batch', messages };
}

function refuse(gatewayFault: GatewayFault, id?: JsonRpcId): ParsedBody {
  return { kind: 'refused', fault: gatewayFault, id };
}
