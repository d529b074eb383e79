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
import { EnvHttpProxyAgent, type Dispatcher } from 'undici';

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

/** Serves until the input ends, or the gateway cannot be reached any more. Requests that came before the end of the input are still answered. */
export async function serveJoinedClient(options: JoinOptions): Promise<void> {
  const ways = { bodyTimeout: 0, headersTimeout: 0, connect: { timeout: openTimeoutMs } };
  // Node's own switch makes no exception for this machine; without it the variables hold as for servers.
  const agent = process.env['NODE_USE_ENV_PROXY'] === '1' ? new EnvHttpProxyAgent(ways) : new Agents().of(undefined);
  await new JoinedClient(options, authorized(agent, options.authorization)).serve();
  await agent.destroy();
}

/** A dispatcher that asks for the token with each request, since the token changes from time to time. */
function authorized(agent: Dispatcher, authorization: JoinOptions['authorization']): Dispatcher {
  if (authorization === undefined) return agent;
  return agent.compose((dispatch) => (options, handler) => {
    const given = authorization();
    const send = (value: string): boolean =>
      dispatch(
        { ...options, headers: { ...(options.headers as Readonly<Record<string, string>>), authorization: value } },
        handler,
      );
    if (typeof given === 'string') return send(given);
    void given.then(send);
    return true;
  });
}

class JoinedClient {
  readonly #options: JoinOptions;
  readonly #transport: StreamableHttpTransport;
  /** Ids of requests that the gateway has not answered; subscriptions are not among them, since they end with the connection. */
  readonly #unanswered = new Set<string | number>();
  readonly #settled = Promise.withResolvers<void>();
  #isEnding = false;
  #initializeId: JsonRpcId | undefined;
  /** Revision of the session, once there is one. */
  #revision: LegacyRevision | undefined;
  /** Input schemas of the tools that the client has listed. They say which arguments are repeated in headers (2026-07-28). */
  readonly #schemas = new Map<string, JsonObject>();
  readonly #listIds = new Set<string | number>();
  /** Messages that came before the answer to `initialize`, without which there is no session to send them in. */
  #held: JsonRpcMessage[] | undefined;
  /** Whether the client has got the words of the last refusal, which then need no line of their own. */
  #isTold = false;

  constructor(options: JoinOptions, dispatcher: Dispatcher) {
    const { url, headers, output, input } = options;
    this.#options = options;
    const reading = new ReadingBudget({ maxBytes: defaultLimits.maxReadingBytes, onWait: () => undefined }).share();
    this.#transport = new StreamableHttpTransport(
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
        message: (value) => this.#hear(value),
        requestFailed: (id, failure) => this.#requestFailed(id, failure),
        takesAfterText: () => false,
        sessionGone: () => this.#lost(`the gateway at ${url} has ended the session`),
        // The gateway itself tells its session which messages were missed.
        missed: () => undefined,
        lost: (problem) => this.#lost(problem),
        dropped: (kind, problem) => {
          if (kind !== 'refusal' || !this.#isTold) options.onProblem(printable(problem), false);
        },
      },
    );
    output.on('error', () => input.destroy());
  }

  async serve(): Promise<void> {
    const { input, output, drainMs } = this.#options;
    const { maxBodyBytes } = defaultLimits;
    await readLines(input, {
      maxBytes: maxBodyBytes,
      tooLong: () =>
        this.#refuseMessage(
          fault('message.too_large', `the message is larger than ${maxBodyBytes} bytes`, { maxBytes: maxBodyBytes }),
        ),
      line: (bytes) => this.#read(bytes),
    });
    this.#isEnding = true;
    if (input.readableEnded && this.#unanswered.size > 0)
      await Promise.race([this.#settled.promise, endOfOutput(output, drainMs)]);
    await this.#transport.close();
  }

  /** A line of the client. */
  #read(bytes: Buffer): void {
    const parsed = parseMessage(bytes, defaultLimits);
    switch (parsed.kind) {
      case 'refused':
        this.#refuseMessage(parsed.fault, parsed.id);
        return;
      case 'single':
        this.#pass(parsed.message.message);
        return;
      case 'batch':
        this.#passBatch(parsed);
    }
  }

  /** Forwards the entries of a batch one by one, if the revision has batches; each answer is written when it arrives. */
  #passBatch(batch: Extract<ParsedBody, { kind: 'batch' }>): void {
    const messages = batch.messages.map(({ message }) => message);
    const isTaken =
      (this.#revision === undefined || featuresOf(this.#revision).batching) &&
      messages.every((message) => !('params' in message) || claimedRevision(message.params) === undefined);
    if (!isTaken) {
      const ids = idsIn(batch);
      for (const id of ids.length === 0 ? [undefined] : ids) this.#refuseMessage(fault('batch.unsupported'), id);
      return;
    }
    for (const refusal of batch.refusals ?? []) this.#write(refusal);
    for (const message of messages) this.#pass(message);
  }

  /** Forwards a message, or holds it until there is a session. */
  #pass(message: JsonRpcMessage): void {
    const isHeld = this.#held !== undefined && !('method' in message && claimedRevision(message.params) !== undefined);
    if (!isHeld) this.#forward(message);
    else if ('id' in message && 'method' in message && message.method === 'ping')
      this.#write(resultText(message.id, '{}'));
    else if (this.#held !== undefined && this.#held.length < defaultLimits.maxInFlightPerSession)
      this.#held.push(message);
    else if ('id' in message && 'method' in message) this.#refuseMessage(fault('session.busy'), message.id);
    if ('method' in message && message.method === 'initialize' && !isHeld) this.#held ??= [];
  }

  #release(): void {
    const waiting = this.#held ?? [];
    this.#held = undefined;
    for (const message of waiting) this.#pass(message);
  }

  #forward(message: JsonRpcMessage): void {
    if (!('method' in message) || !('id' in message)) {
      this.#forwardNotification(message);
      return;
    }
    if (message.method === 'initialize') this.#initializeId = message.id;
    if (claimedRevision(message.params) === undefined) {
      if (this.#initializeId === undefined) {
        // `ping` may come before `initialize` (lifecycle, Initialization), and over HTTP there is no session yet to send it in: it is answered here.
        if (message.method === 'ping') this.#write(resultText(message.id, '{}'));
        else this.#refuseMessage(fault('session.missing', 'send initialize first'), message.id);
        return;
      }
      this.#unanswered.add(idKey(message.id));
      this.#transport.request(message);
      return;
    }
    if (message.method !== 'subscriptions/listen') this.#unanswered.add(idKey(message.id));
    if (message.method === 'tools/list') this.#listIds.add(idKey(message.id));
    this.#transport.request(
      message,
      modernHeaders(message.method, message.params ?? {}, this.#schemas.get(String(message.params?.['name']))),
    );
  }

  /** Forwards a notification, or an answer to a question of a server. */
  #forwardNotification(message: JsonRpcMessage): void {
    const cancelled =
      'method' in message && message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined;
    if (this.#initializeId !== undefined) this.#transport.send(message);
    // Without a session, closing the response is what cancels; with one, no response to a cancelled request is awaited any more.
    if (!isJsonRpcId(cancelled) || this.#isInitialize(cancelled)) return;
    this.#transport.abandon(cancelled);
    this.#answered(cancelled);
  }

  /** A message, or a batch, of the gateway. */
  #hear(value: unknown): void {
    if (isObject(value) && this.#isInitialize(value['id']) && isObject(value['result'])) {
      const { protocolVersion } = value['result'];
      if (isLegacyRevision(protocolVersion)) {
        this.#revision = protocolVersion;
        this.#transport.agreed(protocolVersion);
        this.#transport.listen();
      }
    }
    if (isObject(value)) this.#learn(value);
    this.#write(JSON.stringify(value));
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isObject(each) && !('method' in each)) this.#answered(each['id']);
  }

  /** Remembers the input schemas of listed tools. */
  #learn({ id, result }: JsonObject): void {
    if (!isJsonRpcId(id) || !this.#listIds.delete(idKey(id)) || !isObject(result) || !Array.isArray(result['tools']))
      return;
    for (const tool of result['tools'].filter(isObject))
      if (isObject(tool['inputSchema'])) this.#schemas.set(String(tool['name']), tool['inputSchema']);
  }

  #requestFailed(id: JsonRpcId, failure: RequestFailure): void {
    const { url, refused, lacking } = this.#options;
    this.#isTold = failure.kind === 'refused' && failure.error !== undefined;
    if (failure.kind === 'refused' && failure.httpStatus === 401) refused?.();
    const scopes = failure.kind === 'refused' ? lackingScopes(failure.error) : undefined;
    if (scopes === undefined) {
      const data =
        failure.kind === 'refused' ? { httpStatus: failure.httpStatus } : { isSent: failure.kind !== 'not-sent' };
      this.#write(errorText(id, toErrorObject(fault('gateway.unavailable', describe(failure, url), data))));
    } else {
      lacking?.();
      // Clients that start a program have no OAuth; the user of this program can ask for the scopes.
      this.#write(
        errorText(id, {
          ...scopes.error,
          message: `${printable(scopes.error.message)}; sign in again with: omnibus login ${url} --scope ${scopes.words}`,
        }),
      );
    }
    this.#answered(id);
  }

  #isInitialize(id: unknown): boolean {
    return this.#initializeId !== undefined && isSameId(id, this.#initializeId);
  }

  #answered(id: unknown): void {
    if (isJsonRpcId(id)) this.#unanswered.delete(idKey(id));
    if (this.#isInitialize(id)) this.#release();
    if (this.#isEnding && this.#unanswered.size === 0) this.#settled.resolve();
  }

  #lost(problem: string): void {
    const { input, onProblem } = this.#options;
    onProblem(problem, true);
    input.destroy();
  }

  #refuseMessage(gatewayFault: GatewayFault, id?: JsonRpcId): void {
    const hasNull = id === undefined && this.#revision !== undefined && !featuresOf(this.#revision).idlessErrors;
    this.#write(errorText(hasNull ? null : id, toErrorObject(gatewayFault)));
  }

  #write(text: string): void {
    const { input, output } = this.#options;
    if (output.destroyed) return;
    // A client that has stopped reading is treated as gone.
    if (output.writableLength > defaultLimits.maxBufferedBytes) input.destroy();
    else output.write(`${text}\n`);
  }
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

/** The refusal of a request for lack of a scope, with the scopes to ask for. */
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
