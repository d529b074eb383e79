/**
 * Connects one client on stdin and stdout to a running gateway: its messages are passed on unchanged, with the client's own ids, over
 * Streamable HTTP.
 */
import type { Readable, Writable } from 'node:stream';
import { endOfOutput, idsIn, parseMessage, readLines, type ParsedBody } from '@omnibus/edge';
import {
  Agents,
  ReadingBudget,
  RedirectFollower,
  StreamableHttpTransport,
  type RequestFailure,
} from '@omnibus/backend/transport';
import {
  claimedRevision,
  defaultLimits,
  errorText,
  fault,
  featuresOf,
  idKey,
  isJsonRpcId,
  isLegacyRevision,
  isObject,
  isSameId,
  modernHeaders,
  printable,
  resultText,
  toErrorObject,
  type GatewayFault,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type JsonRpcMessage,
  type LegacyRevision,
} from '@omnibus/protocol';
import { EnvHttpProxyAgent } from 'undici';

export interface JoinOptions {
  /** `http://host:port/mcp[/<endpoint>]` */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The value of the `Authorization` header for the next request, where the user is signed in. */
  readonly authorization?: (() => string | Promise<string>) | undefined;
  /** Called when the gateway has refused that value with 401. */
  readonly refused?: (() => void) | undefined;
  /** Called when the token of a request lacks a scope: its user may sign in for another one meanwhile. */
  readonly lacking?: (() => void) | undefined;
  readonly input: Readable;
  readonly output: Writable;
  /** Milliseconds within which requests are still answered that came before the end of the input. */
  readonly drainMs: number;
  /** @param isFatal whether the connection to the gateway has ended for good. */
  readonly onProblem: (problem: string, isFatal: boolean) => void;
}

const openTimeoutMs = 10_000;

/** Serves until the input ends, or the gateway cannot be reached any more. What was read before the end of the input is still answered. */
export async function serveJoinedClient({
  url,
  headers,
  authorization,
  refused,
  lacking,
  input,
  output,
  drainMs,
  onProblem,
}: JoinOptions): Promise<void> {
  const ways = { bodyTimeout: 0, headersTimeout: 0, connect: { timeout: openTimeoutMs } };
  // Node's own switch makes no exception for this machine; without it the variables hold as for servers.
  const agent = process.env['NODE_USE_ENV_PROXY'] === '1' ? new EnvHttpProxyAgent(ways) : new Agents().of(undefined);
  // The token changes from time to time, so it is asked for with each request.
  const dispatcher =
    authorization === undefined
      ? agent
      : agent.compose((dispatch) => (options, handler) => {
          const said = authorization();
          const send = (value: string): boolean =>
            dispatch(
              {
                ...options,
                headers: { ...(options.headers as Readonly<Record<string, string>>), authorization: value },
              },
              handler,
            );
          if (typeof said === 'string') return send(said);
          void said.then(send);
          return true;
        });
  /** Ids of requests that the gateway has not answered; subscriptions are not among them, since they end with the connection. */
  const unanswered = new Set<string | number>();
  const settled = Promise.withResolvers<void>();
  let isEnding = false;
  const isAnswered = (id: unknown): void => {
    if (isJsonRpcId(id)) unanswered.delete(idKey(id));
    if (initializeId !== undefined && isSameId(id, initializeId)) release();
    if (isEnding && unanswered.size === 0) settled.resolve();
  };
  const writeText = (text: string): void => {
    if (output.destroyed) return;
    // A client that has stopped reading is treated as gone.
    if (output.writableLength > defaultLimits.maxBufferedBytes) input.destroy();
    else output.write(`${text}\n`);
  };
  const write = (message: unknown): void => writeText(JSON.stringify(message));
  const refuse = (id: JsonRpcId, problem: string, failure: RequestFailure): void =>
    writeText(
      errorText(
        id,
        toErrorObject(
          fault(
            'gateway.unavailable',
            problem,
            failure.kind === 'refused' ? { httpStatus: failure.httpStatus } : { isSent: failure.kind !== 'not-sent' },
          ),
        ),
      ),
    );
  let initializeId: JsonRpcId | undefined;
  /** Revision of the session, once there is one. */
  let revision: LegacyRevision | undefined;
  const refuseMessage = (gatewayFault: GatewayFault, id?: JsonRpcId): void => {
    const hasNull = id === undefined && revision !== undefined && !featuresOf(revision).idlessErrors;
    writeText(errorText(hasNull ? null : id, toErrorObject(gatewayFault)));
  };
  /** Input schemas of the tools that the client has listed, which say which arguments are repeated in headers (2026-07-28). */
  const schemas = new Map<string, JsonObject>();
  const listIds = new Set<string | number>();
  const learn = (value: JsonObject): void => {
    if (
      !isJsonRpcId(value['id']) ||
      !listIds.delete(idKey(value['id'])) ||
      !isObject(value['result']) ||
      !Array.isArray(value['result']['tools'])
    )
      return;
    for (const tool of value['result']['tools'].filter(isObject))
      if (isObject(tool['inputSchema'])) schemas.set(String(tool['name']), tool['inputSchema']);
  };
  const lost = (problem: string): void => {
    onProblem(problem, true);
    input.destroy();
  };
  /** Whether the client was told the words of the last refusal, which then need no line of their own. */
  let isTold = false;
  const reading = new ReadingBudget({ maxBytes: defaultLimits.maxReadingBytes, onWait: () => undefined }).share();
  const transport = new StreamableHttpTransport(
    {
      url,
      headers,
      dispatcher: new RedirectFollower(dispatcher, () => undefined),
      limits: defaultLimits,
      reading,
      openTimeoutMs,
      child: undefined,
    },
    {
      message: (value) => {
        if (
          isObject(value) &&
          initializeId !== undefined &&
          isSameId(value['id'], initializeId) &&
          isObject(value['result'])
        ) {
          const { protocolVersion } = value['result'];
          if (isLegacyRevision(protocolVersion)) {
            revision = protocolVersion;
            transport.agreed(protocolVersion);
            transport.listen();
          }
        }
        if (isObject(value)) learn(value);
        write(value);
        for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
          if (isObject(each) && !('method' in each)) isAnswered(each['id']);
      },
      requestFailed(id, failure) {
        isTold = failure.kind === 'refused' && failure.error !== undefined;
        if (failure.kind === 'refused' && failure.httpStatus === 401) refused?.();
        const scopes = failure.kind === 'refused' ? lackingScopes(failure.error) : undefined;
        if (scopes !== undefined) {
          lacking?.();
          // Clients that start a program have no OAuth; the user of this program can ask for the scopes.
          writeText(
            errorText(id, {
              ...scopes.error,
              message: `${printable(scopes.error.message)}; sign in again with: omnibus login ${url} --scope ${scopes.words}`,
            }),
          );
        } else refuse(id, describe(failure, url), failure);
        isAnswered(id);
      },
      takesAfterText: () => false,
      sessionGone: () => lost(`the gateway at ${url} has ended the session`),
      // The gateway itself tells its session what was missed.
      missed: () => undefined,
      lost,
      dropped(kind, problem) {
        if (kind !== 'refusal' || !isTold) onProblem(printable(problem), false);
      },
    },
  );
  output.on('error', () => input.destroy());
  const forward = (message: JsonRpcMessage): void => {
    if (!('method' in message) || !('id' in message)) {
      const cancelled =
        'method' in message && message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined;
      if (initializeId !== undefined) transport.send(message);
      // Without a session, closing the response is what cancels; with one, no response to a cancelled request is awaited any more.
      if (isJsonRpcId(cancelled) && (initializeId === undefined || !isSameId(cancelled, initializeId))) {
        transport.abandon(cancelled);
        isAnswered(cancelled);
      }
      return;
    }
    if (message.method === 'initialize') initializeId = message.id;
    if (claimedRevision(message.params) === undefined) {
      if (initializeId === undefined) {
        // `ping` may come before `initialize` (lifecycle, Initialization), and over HTTP there is no session yet to send it in: it is answered here.
        if (message.method === 'ping') writeText(resultText(message.id, '{}'));
        else refuseMessage(fault('session.missing', 'send initialize first'), message.id);
        return;
      }
      unanswered.add(idKey(message.id));
      transport.request(message);
      return;
    }
    if (message.method !== 'subscriptions/listen') unanswered.add(idKey(message.id));
    if (message.method === 'tools/list') listIds.add(idKey(message.id));
    transport.request(
      message,
      modernHeaders(message.method, message.params ?? {}, schemas.get(String(message.params?.['name']))),
    );
  };
  /** Forwards the entries of a batch one by one, if the revision has batches; each answer is written when it arrives. */
  const forwardBatch = (batch: Extract<ParsedBody, { kind: 'batch' }>): void => {
    const messages = batch.messages.map(({ message }) => message);
    const isTaken =
      (revision === undefined || featuresOf(revision).batching) &&
      messages.every((message) => !('params' in message) || claimedRevision(message.params) === undefined);
    if (!isTaken) {
      const ids = idsIn(batch);
      for (const id of ids.length === 0 ? [undefined] : ids) refuseMessage(fault('batch.unsupported'), id);
      return;
    }
    for (const refusal of batch.refusals ?? []) writeText(refusal);
    for (const message of messages) pass(message);
  };
  /** Messages that came before the answer to `initialize`, without which there is no session to send them in. */
  let held: JsonRpcMessage[] | undefined;
  const pass = (message: JsonRpcMessage): void => {
    const isHeld = held !== undefined && !('method' in message && claimedRevision(message.params) !== undefined);
    if (!isHeld) forward(message);
    else if ('id' in message && 'method' in message && message.method === 'ping')
      writeText(resultText(message.id, '{}'));
    else if (held !== undefined && held.length < defaultLimits.maxInFlightPerSession) held.push(message);
    else if ('id' in message && 'method' in message) refuseMessage(fault('session.busy'), message.id);
    if ('method' in message && message.method === 'initialize' && !isHeld) held ??= [];
  };
  const release = (): void => {
    const waiting = held ?? [];
    held = undefined;
    for (const message of waiting) pass(message);
  };
  const { maxBodyBytes } = defaultLimits;
  await readLines(input, {
    maxBytes: maxBodyBytes,
    tooLong: () =>
      refuseMessage(
        fault('message.too_large', `the message is larger than ${maxBodyBytes} bytes`, { maxBytes: maxBodyBytes }),
      ),
    line: (bytes) => {
      const parsed = parseMessage(bytes, defaultLimits);
      switch (parsed.kind) {
        case 'refused':
          refuseMessage(parsed.fault, parsed.id);
          return;
        case 'single':
          pass(parsed.message.message);
          return;
        case 'batch':
          forwardBatch(parsed);
      }
    },
  });
  isEnding = true;
  if (input.readableEnded && unanswered.size > 0) await Promise.race([settled.promise, endOfOutput(output, drainMs)]);
  await transport.close();
  await agent.destroy();
}

/** The problem for the client, with the message of the gateway where there is one: it names the issuer, audience or scope that is expected. */
function describe(failure: RequestFailure, url: string): string {
  const said = failure.kind === 'refused' && failure.error !== undefined ? printable(failure.error.message) : undefined;
  // The user of this program can correct that, so the message says how.
  if (failure.kind === 'refused' && failure.httpStatus === 401)
    return `the gateway at ${url} wants to know who asks: ${said ?? failure.problem}; sign in with: omnibus login ${url}, or give a key or token with --header "Authorization: Bearer ..."`;
  return failure.kind === 'session-gone'
    ? `the gateway at ${url} has ended the session; start again`
    : `the gateway at ${url}: ${said ?? failure.problem}`;
}

/** A scope that a shell takes as it is, so that a command with it can be copied. */
const plainScope = /^[\w:./-]+$/;

/** The refusal of a request whose token lacks a scope, with the scopes to ask for. */
function lackingScopes(
  error: JsonRpcErrorObject | undefined,
): { readonly error: JsonRpcErrorObject; readonly words: string } | undefined {
  if (!isObject(error?.data) || error.data['reason'] !== 'auth.scope') return undefined;
  const { requiredScopes } = error.data;
  const isPlain =
    Array.isArray(requiredScopes) &&
    requiredScopes.length > 0 &&
    requiredScopes.every((scope) => typeof scope === 'string' && plainScope.test(scope));
  return { error, words: isPlain ? requiredScopes.join(' ') : 'SCOPE' };
}
