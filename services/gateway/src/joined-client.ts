/**
 * One client on stdin and stdout joined to a gateway that runs elsewhere: its messages go out as they are, under its own
 * ids, over Streamable HTTP. The gateway it joins does the rest.
 */
import type { Readable, Writable } from 'node:stream';
import { readLines } from '@omnibus/edge';
import { modernHeaders, StreamableHttpTransport, type RequestFailure } from '@omnibus/backend';
import { claimedRevision, classify, defaultLimits, errorText, fault, idKey, isJsonRpcId, isLegacyRevision, isObject, printable, readJson, toErrorObject, type GatewayFault, type JsonObject, type JsonRpcId, type JsonRpcMessage } from '@omnibus/protocol';
import { Agent } from 'undici';

export interface JoinOptions {
  /** `http://host:port/mcp[/<endpoint>]` */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly input: Readable;
  readonly output: Writable;
  /** @param isFatal nothing can be said to the gateway any more. */
  readonly onProblem: (problem: string, isFatal: boolean) => void;
}

const openTimeoutMs = 10_000;

/** Serves until the input ends, or the gateway cannot be reached any more. */
export async function serveJoinedClient({ url, headers, input, output, onProblem }: JoinOptions): Promise<void> {
  const dispatcher = new Agent({ bodyTimeout: 0, headersTimeout: 0, connect: { timeout: openTimeoutMs } });
  const writeText = (text: string): void => {
    if (output.destroyed) return;
    // A client that reads nothing any more is as good as gone.
    if (output.writableLength > defaultLimits.maxBufferedBytes) input.destroy();
    else output.write(`${text}\n`);
  };
  const write = (message: unknown): void => writeText(JSON.stringify(message));
  const refuse = (id: JsonRpcId, problem: string): void => writeText(errorText(id, toErrorObject(fault('gateway.unavailable', problem))));
  const refuseMessage = (gatewayFault: GatewayFault, id?: JsonRpcId): void => writeText(errorText(id, toErrorObject(gatewayFault)));
  let initializeId: JsonRpcId | undefined;
  /** What tools want repeated in headers, as far as the client has listed them (2026-07-28). */
  const schemas = new Map<string, JsonObject>();
  const listIds = new Set<string | number>();
  const learn = (value: JsonObject): void => {
    if (!isJsonRpcId(value['id']) || !listIds.delete(idKey(value['id'])) || !isObject(value['result']) || !Array.isArray(value['result']['tools'])) return;
    for (const tool of value['result']['tools'].filter(isObject)) if (isObject(tool['inputSchema'])) schemas.set(String(tool['name']), tool['inputSchema']);
  };
  const lost = (problem: string): void => {
    onProblem(problem, true);
    input.destroy();
  };
  const transport = new StreamableHttpTransport({ url, headers, dispatcher, limits: defaultLimits, openTimeoutMs, child: undefined }, {
    message: (value) => {
      if (isObject(value) && value['id'] === initializeId && isObject(value['result'])) {
        const revision = value['result']['protocolVersion'];
        if (isLegacyRevision(revision)) {
          transport.agreed(revision);
          transport.initialized();
        }
      }
      if (isObject(value)) learn(value);
      write(value);
    },
    requestFailed: (id, failure) => refuse(id, describe(failure, url)),
    sessionGone: () => lost(`the gateway at ${url} has ended the session`),
    lost,
    dropped: (_kind, problem) => onProblem(printable(problem), false),
  });
  output.on('error', () => input.destroy());
  const forward = (message: JsonRpcMessage): void => {
    if (!('method' in message) || !('id' in message)) {
      const cancelled = 'method' in message && message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined;
      if (initializeId === undefined && isJsonRpcId(cancelled)) transport.abandon(cancelled); // Without a session, closing the response cancels.
      else transport.send(message);
      return;
    }
    if (message.method === 'initialize') initializeId = message.id;
    if (claimedRevision(message.params) === undefined) {
      transport.request(message);
      return;
    }
    if (message.method === 'tools/list') listIds.add(idKey(message.id));
    transport.request(message, modernHeaders(message.method, message.params ?? {}, schemas.get(String(message.params?.['name']))));
  };
  const { maxBodyBytes } = defaultLimits;
  await readLines(input, {
    maxBytes: maxBodyBytes,
    tooLong: () => refuseMessage(fault('message.too_large', `the message is larger than ${maxBodyBytes} bytes`, { maxBytes: maxBodyBytes })),
    line: (bytes) => {
      const read = readJson(bytes, maxBodyBytes, defaultLimits);
      if (read.kind === 'refused') {
        refuseMessage(fault(read.reason, read.problem));
        return;
      }
      for (const item of Array.isArray(read.value) ? (read.value as unknown[]) : [read.value]) {
        const classified = classify(item);
        if (classified.kind === 'invalid') refuseMessage(fault('message.invalid', classified.problem), classified.id);
        else forward(classified.message);
      }
    },
  });
  await transport.close();
  await dispatcher.destroy();
}

function describe(failure: RequestFailure, url: string): string {
  return failure.kind === 'session-gone' ? `the gateway at ${url} has ended the session; start again` : `the gateway at ${url}: ${failure.problem}`;
}
