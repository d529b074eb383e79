import { isUtf8 } from 'node:buffer';
import { classify, fault, isDeeperThan, type GatewayFault, type JsonRpcId, type Limits, type PostedMessage } from '@omnibus/protocol';

export type ParsedBody =
  | { readonly kind: 'single'; readonly message: PostedMessage }
  | { readonly kind: 'batch'; readonly messages: readonly PostedMessage[] }
  /** `id` is echoed when that much of the message was sound. */
  | { readonly kind: 'refused'; readonly fault: GatewayFault; readonly id: JsonRpcId | undefined };

/** From bytes to JSON-RPC: -32700 for what is no JSON, -32600 for JSON that is no message. */
export function parseMessage(body: Buffer, limits: Limits): ParsedBody {
  let value: unknown;
  try {
    if (!isUtf8(body)) return refuse(fault('message.not_json', 'the body is not UTF-8'));
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return refuse(fault('message.not_json'));
  }
  if (isDeeperThan(value, limits.maxJsonDepth)) return refuse(fault('message.too_deep', `the message nests deeper than ${limits.maxJsonDepth}`));
  return Array.isArray(value) ? parseBatch(value, limits) : parseSingle(value);
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
